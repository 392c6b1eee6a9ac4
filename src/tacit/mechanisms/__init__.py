"""Mechanisms that add noise. Fields are public, the argument is sensitive, the result is released.

randomized_response  bits and k-ary answers          weights    exact integer weights of choices
laplace, gaussian    numbers on a grid               selection  one candidate, by its weight
sums, gram           sums over people, clipped here  topk       a list of candidates, by peeling
gate, counter        answers step by step            runs       one life of a gate or a counter

guarantees           the card of one call of each
checks, grid         public parameters and numbers   samplers, blocks   exact noise
"""
