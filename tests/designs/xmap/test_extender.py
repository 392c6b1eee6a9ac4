"""Layers, pruning and X-SIM, against plain enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tacit.designs.xmap.baseliner import make_baseline
from tacit.designs.xmap.extender import blocks_of_starts, compute_x_sim, extend
from tacit.engine import Engine

ENGINE = Engine()
ALL = 1000
SEEDS = range(12)


def edges_of(base):
    """{(i, j): (S, s, F)} of all pairs with a similarity and an agreement, from the definitions."""
    values = base.table.values
    centred, rated = values.toarray(), np.zeros(values.shape, dtype=bool)
    people = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    rated[people, values.indices] = True
    likes = np.zeros(values.shape, dtype=bool)
    likes[people, values.indices] = base.table.likes
    found = {}
    for i, j in itertools.permutations(range(values.shape[1]), 2):
        both = rated[:, i] & rated[:, j]
        agreements = int((both & (likes[:, i] == likes[:, j])).sum())
        lengths = np.linalg.norm(centred[:, i]) * np.linalg.norm(centred[:, j])
        s = float(centred[:, i] @ centred[:, j] / lengths) if lengths else 0.0
        if agreements and abs(s) > 1e-12:
            found[i, j] = (agreements, s, agreements / int((rated[:, i] | rated[:, j]).sum()))
    return found


def layers_of(edges, items, others):
    """Bridge, near and far items of one domain, from the definitions."""
    bridge = {i for i in items if any((i, j) in edges for j in others)}
    near = {i for i in set(items) - bridge if any((i, j) in edges for j in bridge)}
    far = {i for i in set(items) - bridge - near if any((i, j) in edges for j in near)}
    return bridge, near, far


def meta_paths(edges, source, target, i, j):
    """All paths from i to j with at most one item of each layer, as lists of (S, s, F)."""
    chain = [*reversed(source), *target]  # far, near, bridge, bridge, near, far
    first = next(k for k in range(3) if i in chain[k])
    last = next(k for k in range(3, 6) if j in chain[k])
    paths = [[i]]
    for layer in chain[first + 1 : last + 1]:
        paths = [[*path, node] for path in paths for node in layer if (path[-1], node) in edges]
    return [[edges[pair] for pair in itertools.pairwise(path)] for path in paths if path[-1] == j]


def x_sim(paths):
    """Similarities of paths, weighted by certainties: of lists of (S, s, F)."""
    certainties = [np.prod([F for _, _, F in path]) for path in paths]
    similar = [sum(S * s for S, s, _ in path) / sum(S for S, _, _ in path) for path in paths]
    return np.average(similar, weights=certainties)


def test_x_sim_of_two_paths():
    """Edges (S, s, F) = (4, .5, .4), (1, -.2, .1), and a second path of one edge (2, .3, .2)."""
    assert x_sim([[(4, 0.5, 0.4), (1, -0.2, 0.1)], [(2, 0.3, 0.2)]]) == pytest.approx(0.31)


@pytest.mark.parametrize("seed", SEEDS)
def test_x_sim_is_the_enumeration(make_sparse, seed):
    """Without pruning, X-SIM of every pair is that of all its meta-paths, and NaN without one."""
    matrix, half = make_sparse(seed)
    base = make_baseline(matrix)
    sources, targets = (np.arange(half, dtype=np.int32) + half * side for side in (0, 1))
    extension = extend(base, sources, targets, k=ALL, significance=0, engine=ENGINE)
    found = compute_x_sim(extension, sources, ENGINE)
    edges = edges_of(base)
    source = layers_of(edges, sources.tolist(), targets.tolist())
    target = layers_of(edges, targets.tolist(), sources.tolist())
    for i, j in itertools.product(sources.tolist(), targets.tolist()):
        reached = any(i in layer for layer in source) and any(j in layer for layer in target)
        paths = meta_paths(edges, source, target, i, j) if reached else []
        if paths:
            assert found[i, j - half] == pytest.approx(x_sim(paths))
        else:
            assert np.isnan(found[i, j - half])


def test_worlds_have_every_layer(make_sparse):
    """The enumeration above meets near and far items in both domains."""
    seen = np.zeros(4, dtype=int)
    for seed in SEEDS:
        matrix, half = make_sparse(seed)
        sources, targets = (np.arange(half, dtype=np.int32) + half * side for side in (0, 1))
        found = extend(
            make_baseline(matrix), sources, targets, k=ALL, significance=0, engine=ENGINE
        )
        seen += [
            len(found.layers[1]),
            len(found.layers[0]),
            len(found.layers[4]),
            len(found.layers[5]),
        ]
    assert (seen > 0).all()


def test_direct_pair_has_its_cosine(make_sparse):
    """A directly connected cross-domain pair is its only path: X-SIM is s_ac."""
    matrix, half = make_sparse(3)
    base = make_baseline(matrix)
    sources, targets = (np.arange(half, dtype=np.int32) + half * side for side in (0, 1))
    found = compute_x_sim(
        extend(base, sources, targets, k=ALL, significance=0, engine=ENGINE), sources, ENGINE
    )
    direct = {(i, j): e for (i, j), e in edges_of(base).items() if i < half <= j}
    assert direct
    for (i, j), (_, s, _) in direct.items():
        assert found[i, j - half] == pytest.approx(s)


def test_an_edge_stays_if_either_end_keeps_it(make_sparse):
    """Pruned to k = 1, the edges across are every bridge item's strongest, seen from both sides."""
    matrix, half = make_sparse(5, people=60, straddlers=40)
    base = make_baseline(matrix)
    sources, targets = (np.arange(half, dtype=np.int32) + half * side for side in (0, 1))
    extension = extend(base, sources, targets, k=1, significance=0, engine=ENGINE)
    edges = {pair: abs(e[1]) for pair, e in edges_of(base).items()}
    expected = set()
    for mine, others in ((sources, targets), (targets, sources)):
        for i in mine.tolist():
            near = [(-edges[i, j], j) for j in others.tolist() if (i, j) in edges]
            if near:
                # Strengths from another order of sums may differ in the last bit: compare rounded.
                j = min((round(strength, 9), j) for strength, j in near)[1]
                expected.add((min(i, j), max(i, j)))
    stage = extension.stages[2]
    left = np.repeat(extension.layers[2], np.diff(stage.offsets))
    found = set(zip(left.tolist(), extension.layers[3][stage.targets].tolist(), strict=True))
    assert found == expected


def test_blocks_change_nothing(make_sparse, monkeypatch):
    """X-SIM in blocks of one item is X-SIM at once."""
    matrix, half = make_sparse(1)
    sources, targets = (np.arange(half, dtype=np.int32) + half * side for side in (0, 1))
    extension = extend(make_baseline(matrix), sources, targets, k=3, significance=0, engine=ENGINE)
    monkeypatch.setattr("tacit.designs.xmap.extender.MOST_PAIRS", 1)
    blocks = blocks_of_starts(extension, sources)
    assert len(blocks) == half
    found = [compute_x_sim(extension, sources[part], ENGINE) for part in blocks]
    np.testing.assert_array_equal(np.concatenate(found), compute_x_sim(extension, sources, ENGINE))


def test_domains_without_a_straddler(make_sparse):
    """Nobody rated in both: no layer, no X-SIM."""
    matrix, half = make_sparse(0, straddlers=0)
    sources, targets = (np.arange(half, dtype=np.int32) + half * side for side in (0, 1))
    extension = extend(make_baseline(matrix), sources, targets, k=3, significance=0, engine=ENGINE)
    assert not extension.layers[2].size
    assert np.isnan(compute_x_sim(extension, sources, ENGINE)).all()
