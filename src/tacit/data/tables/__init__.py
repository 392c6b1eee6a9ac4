"""Tables of any form to columns of ratings: opened, their columns found, their rows checked."""
