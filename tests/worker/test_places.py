"""Where tasks were: what a worker that is gone may have had to send."""

from __future__ import annotations

from penstock.worker.places import Places


def test_a_worker_owes_the_markers_of_what_it_ever_had() -> None:
    places = Places({7: 0, 8: 1}, assignment=1)
    places.prepare({7: 2, 8: 1}, assignment=2)
    places.switch()
    places.prepare({7: 2, 8: 3}, assignment=4)
    assert (places.owed_by(0), places.owed_by(1)) == ({7: 2}, {8: 4})
    places.switch()
    assert (places.owed_by(0), places.owed_by(1), places.owed_by(2)) == ({7: 2}, {8: 4}, {7: 4})


def test_who_comes_while_tasks_are_on_their_way_knows_where_they_were() -> None:
    places = Places({7: 2}, assignment=5, former={7: 0, 9: 1})
    assert [places.at(7, 4), places.at(7, 5), places.at(9, 4), places.at(9, 5)] == [0, 2, 1, None]
