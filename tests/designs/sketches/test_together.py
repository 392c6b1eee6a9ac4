"""Device, wire and server together: a small campaign from question to list."""

from __future__ import annotations

import numpy as np

from tacit.designs import sketches as sk

ITEMS = [f"item {n}" for n in range(12)]
LIMITS = sk.Limits(epsilon=8.0, lifetime=8.0)


def test_a_campaign_from_question_to_list(tmp_path):
    """500 devices answer once; the server finds what is liked; a device lists it at home."""
    rng = np.random.default_rng(4)
    campaign = sk.new_campaign(ITEMS, rated=12, epsilon=8.0, theta=1.0, seed=bytes(16))
    server = sk.Server(sk.Campaign.decode(campaign.encode()))
    histories = [
        {
            item: float(rng.random() < (0.7 if n < 6 else 0.05)) * 4 + 1
            for n, item in enumerate(ITEMS)
        }
        for _ in range(500)
    ]
    for n, history in enumerate(histories):
        device = sk.Device(n.to_bytes(32, "big"), {}, LIMITS)
        sent = device.report(campaign, ITEMS, history).encode()
        again = device.report(campaign, ITEMS, history).encode()
        assert server.fold(sent, now=0).accepted_count == 1
        assert server.fold(again, now=0).counts["duplicate"] == 1
    server.save(tmp_path / "counts")
    found = sk.score_clusters(sk.item_counts(sk.Server.load(tmp_path / "counts")), 2)
    assert found.labels.tolist() == [1] * 6 + [0] * 6
    message = sk.Clusters.decode(sk.publish(campaign, found).encode())
    listed = sk.Device(bytes(32), {}).recommend(
        message, ITEMS, {"item 0": 5.0, "item 8": 1.0}, liked_from=4.0, n=5
    )
    assert sorted(listed) == ITEMS[1:6]
