"""Backends, which compile graphs: `registry` knows the names, `debugging` runs graphs without a compiler, `common` makes backends of compilers of forward and backward."""
