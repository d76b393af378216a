"""Capture of Python frames: symbolic execution of their bytecode (docs/records/0027-compile.md).

`machine` executes instructions, `world` knows what lies outside of the frame, `calls` decides how a callable is run, `record` writes operators down,
`rebuild` makes the code that gives the frame its values back, and `frames` puts an entry of the compiled region together.
"""
