"""``python -m bench [--quick] [--million] [--only PART ...] [--json FILE]``: modhub beside its floors of speed.

Parts: ``reads`` (both databases), ``files``, ``starts``. What is compared is measured in turns; figures are medians.
``--million`` measures `bench.million` instead.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bench import files, million, reads, servers, starts
from bench.measuring import HEADINGS, Row, machine, on_all_cores, stay_on_the_clients_core, table
from modhub_testing.postgres import postgres_server

PARTS: Final = ("reads", "files", "starts")


def measure(folder: Path, parts: list[str], mods: int, rounds: int, seconds: float) -> list[Row]:
    """All rows of the table."""
    rows = []
    with ExitStack() as stack:
        urls = {"sqlite": f"sqlite:///{folder}/bench.sqlite"}
        if "reads" in parts:
            urls["postgresql"] = stack.enter_context(postgres_server()).new_database()
        if {"reads", "starts"} & set(parts):
            _fill(folder, urls, mods)
        if "reads" in parts:
            for database, url in urls.items():
                rows += reads.beside_constant(folder, database, url, rounds, seconds)
                rows += reads.nothing_kept(folder, database, url, seconds, mods)
                rows += reads.pages(folder, database, url, seconds)
        if "starts" in parts:
            rows += starts.starts(folder, urls["sqlite"], rounds)
    if "files" in parts:
        rows += files.files(folder, rounds)
    if "million" in parts:
        rows += million.measure(folder, mods)
    return rows


def _fill(folder: Path, urls: dict[str, str], mods: int) -> None:
    """All databases at the same time: it takes minutes."""
    context = multiprocessing.get_context("spawn")
    with on_all_cores():
        seeding = []
        for database, url in urls.items():
            place = folder / database
            place.mkdir()
            seeding.append(context.Process(target=servers.prepare_and_seed, args=(place, url, mods)))
            seeding[-1].start()
        for process in seeding:
            process.join()
            assert process.exitcode == 0
        for database, url in urls.items():
            servers.let_workers_finish(folder, database, url)
    os.sync()


def show(rows: list[Row], facts: dict[str, Any]) -> None:
    """Print the results beside the floors."""
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n\n")
    sys.stdout.write(table(HEADINGS, [row.cells() for row in rows]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer mods, short rounds")
    size.add_argument("--million", action="store_true", help="lists and searches of a million mods alone")
    parser.add_argument("--only", choices=PARTS, nargs="+")
    parser.add_argument("--mods", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    mods, rounds, seconds = (3_000, 1, 0.5) if arguments.quick else (100_000, 5, 0.7)
    parts = arguments.only or list(PARTS)
    if arguments.million:
        if arguments.only:
            parser.error("--million measures no other part")
        mods, parts = million.MODS, ["million"]
    mods, rounds = arguments.mods or mods, arguments.rounds or rounds
    began, facts = time.perf_counter(), machine() | {"mods": mods}
    stay_on_the_clients_core()
    with tempfile.TemporaryDirectory(prefix="modhub-bench-") as name:
        rows = measure(Path(name), parts, mods, rounds, seconds)
    facts |= {"load_afterwards": machine()["load"], "minutes": round((time.perf_counter() - began) / 60, 1)}
    show(rows, facts)
    if arguments.json:
        row_documents = [asdict(row) | {"goal": row.goal, "is_met": row.is_met} for row in rows]
        arguments.json.write_text(json.dumps({"facts": facts, "rows": row_documents}, indent=1))


if __name__ == "__main__":
    main()
