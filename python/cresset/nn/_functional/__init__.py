"""The functions of nn.functional, by theme."""
