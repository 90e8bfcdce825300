"""Seeds of requests."""

from rltrain_trainer.rollout.types import request_seed


def test_a_seed_is_the_same_everywhere() -> None:
    assert request_seed(0, 1, 2, 3) == 0xC2D3870EC4C791E9
    assert request_seed(1234, 500, 63, 7) == 0x4FD6028A27F686F1


def test_seeds_are_64_bits_and_differ_in_every_part() -> None:
    parts = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 11, 1, 0), (0, 1, 11, 0)]
    seeds = {request_seed(*part) for part in parts}
    assert len(seeds) == len(parts)
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert max(seeds) > 2**60
