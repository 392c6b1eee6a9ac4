"""The profiles, one for every released artefact, and how many cases make an audit of it."""

from __future__ import annotations

from tacit.auditing import random_sizes_mechanisms as mechanisms
from tacit.auditing import random_sizes_samplers as samplers
from tacit.auditing.random_sizes import Profile
from tacit.designs.random_sizes import tables

BENCH: tuple[Profile, ...] = (
    Profile("Laplace sampler", samplers.laplace, 60),
    Profile("Gaussian sampler", samplers.gaussian, 60),
    Profile("bit-release", mechanisms.bits, 60),
    Profile("kary-response", mechanisms.answers, 60),
    Profile("laplace", mechanisms.laplace, 200),
    Profile("gaussian", mechanisms.gaussian, 200),
    Profile("selection", mechanisms.selection, 40),
    Profile("top-selection", mechanisms.top_selection, 25),
    Profile("noisy-max", mechanisms.noisy_max, 200),
    Profile("tree-counter", mechanisms.tree, 80),
    Profile("threshold-gate", mechanisms.gate, 80),
    Profile("gram", tables.gram, 150),
    Profile("sums", tables.sums, 150),
    Profile("standard scheme, private disclosure", tables.disclosure, 40),
    Profile("x-map, sound fit", tables.xmap, 40),
)
BY_NAME = {profile.artefact: profile for profile in BENCH}
