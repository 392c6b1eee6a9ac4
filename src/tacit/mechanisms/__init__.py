"""Mechanisms that draw at random, such as by adding noise.

A mechanism's fields are public, its argument is sensitive, and its result is released.

randomized_response  bits and answers out of k
laplace, gaussian    numbers on a grid
sums, gram           sums over people, whose contributions are clipped here
selection, topk      one candidate, or a list of candidates
gate, counter        answers to a series of questions, one by one
guarantees           the guarantee card of one call of each
weights              exact integer weights of candidates
checks               checks of parameters
sensitive_values     checks and conversions of values to release
grid                 numbers rounded to a grid
samplers, blocks     exact noise
runs                 one run of a gate or a counter, and its noise
"""
