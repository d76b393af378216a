"""What tests of libraries are written with."""
