"""Tests of the tables: any peers may have been measured, also a build that this run does not know."""

import unittest

import tables


def row(peer, hosts, turn, cpu):
    return {
        "round": turn,
        "peer": peer,
        "hosts": hosts,
        "urls": 1000,
        "per_second": 50_000,
        "cpu_us_per_url": cpu,
        "peak_mb": 20.0,
        "recorded": 1000,
    }


def page(*rows):
    part = {"date": "2026-11-29", "urls": 1000, "rounds": 2, "load": 0.1, "rows": list(rows)}
    machine = {"cores": 2, "processor": "any", "kernel": "6"}
    return tables.page({"machine": machine, "versions": {"hecaton fetch": "hecaton 0.1.0"}, "parts": {"peers": part}})


class TablesTest(unittest.TestCase):
    def test_a_page_of_any_peers(self):
        for peer in ("hecaton fetch", "hecaton fetch to files", "wget2", "hecaton fetch before"):
            with self.subTest(peer):
                self.assertIn(f"URLs/s: {peer} 50,000", page(row(peer, 1, 0, 10.0)).splitlines()[0])

    def test_a_page_without_the_hosts_of_the_title(self):
        self.assertIn("| wget2 | 20 | 50,000 | 10.0 |", page(row("wget2", 20, 0, 10.0)))

    def test_a_build_is_compared_with_the_one_before_it_round_by_round(self):
        now = [row("hecaton fetch", 1, turn, cpu) for turn, cpu in enumerate((11.0, 22.0, 30.0))]
        before = [row("hecaton fetch before", 1, turn, cpu) for turn, cpu in enumerate((10.0, 20.0, 40.0))]
        self.assertIn("| hecaton fetch | 1 | 1.100 | 0.750 to 1.100 | 3 |", page(*now, *before))
        self.assertNotIn("× before", page(*now))

    def test_the_interval_leaves_out_what_95_percent_allow(self):
        for count, ends in ((1, (0, 0)), (5, (0, 4)), (6, (0, 5)), (8, (0, 7)), (9, (1, 7)), (10, (1, 8))):
            self.assertEqual(ends, tables.around_median(list(range(count))), count)


if __name__ == "__main__":
    unittest.main()
