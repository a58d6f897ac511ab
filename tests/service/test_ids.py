from __future__ import annotations

from overcast.service.ids import AT_ONCE, Ids


def test_ids_are_new_and_hexadecimal() -> None:
    ids, others = Ids(), Ids()
    drawn = [one.draw() for _ in range(3 * AT_ONCE) for one in (ids, others)]
    assert len(set(drawn)) == 6 * AT_ONCE
    assert {len(one) for one in drawn} == {32}
    assert set("".join(drawn)) == set("0123456789abcdef")
