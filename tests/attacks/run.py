#!/usr/bin/env python3
"""Runs the attacks: one line per failing case, a tally per section, and one over all.

    python3 tests/attacks/run.py --handoff PATH [--section A] [--case A1] [--short|--long] [--list]
    python3 tests/attacks/run.py --control

Every case is run but the few that take minutes, which `--long` adds; `--short`, which is for a
build without optimisation, takes the first case of every row and a part of its other variants,
always the same. Exit 1 if a case fails. `--control` puts deliberately wrong programs in the place
of the real one, and exits 1 unless the suite finds every one of them out.
"""

import argparse
import importlib
import os
import pathlib
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402  (beside this file, not installed)

MODULES = [
    "a_rows",
    "b_history",
    "c_keys",
    "d_encoding",
    "e_semantics",
    "f_schema",
    "g_paths",
    "h_process",
    "i_concurrency",
    "j_probes",
    "k_output",
    "l_files",
]


def judged(case, handoff, long):
    """Nothing if the case passes, else why it does not."""
    world = harness.World(handoff, long)
    world.name, world.many = case.id, case.id[0] in "CDE"
    try:
        case.judge(world)
        return "; ".join(world.noted) or None
    except harness.Fail as fault:
        return "; ".join([str(fault), *world.noted])
    except Exception:  # a fault of the suite itself: told as such, and no pass
        return "the case itself broke: " + traceback.format_exc(limit=-4).replace("\n", " | ")
    finally:
        world.close()


def in_short(cases):
    """The first of every row, and a quarter of the others."""
    seen = set()
    for case in cases:
        first = case.row not in seen
        seen.add(case.row)
        if first or harness.number_of(case.id) % 4 == 0:
            yield case


def chosen(sections, names, long, short=False):
    tables = []
    for module in MODULES:
        if sections and module[0].upper() not in sections:
            continue
        table = importlib.import_module(module).TABLE
        cases = [
            case
            for case in table.cases
            if (not names or case.id in names or case.row in names) and (long or not case.slow)
        ]
        tables.append((table.section, list(in_short(cases)) if short else cases))
    return [(section, cases) for section, cases in tables if cases]


def run(handoff, tables, long, jobs, quiet=False):
    """Runs the cases of some tables; gives the ids of those that fail with why."""
    failing, total = {}, 0
    for section, cases in tables:
        began = time.monotonic()
        with ThreadPoolExecutor(max_workers=1 if section in "HI" else jobs) as pool:
            results = list(pool.map(lambda case: judged(case, handoff, long), cases))
        passed = sum(result is None for result in results)
        total += len(cases)
        for case, result in zip(cases, results):
            if result is not None:
                failing[case.id] = result
                if not quiet:
                    print("FAIL %s (%s): %s" % (case.id, case.what, result[:700]))
        if not quiet:
            spent = time.monotonic() - began
            print(
                "%s: %d cases, %d pass, %.0f s" % (section, len(cases), passed, spent), flush=True
            )
    return failing, total


def main():
    parser = argparse.ArgumentParser(description="Attacks on a ledger")
    parser.add_argument("--handoff", help="the program to attack")
    parser.add_argument("--section", action="append", default=[], help="A to L (repeatable)")
    parser.add_argument("--case", action="append", default=[], help="a case or row (repeatable)")
    parser.add_argument("--short", action="store_true", help="a part of the variants")
    parser.add_argument("--long", action="store_true", help="the slow cases and full counts too")
    parser.add_argument("--list", action="store_true", help="list the cases, run none")
    parser.add_argument("--control", action="store_true", help="the negative controls")
    parser.add_argument(
        "--deadline",
        type=float,
        default=harness.DEADLINE,
        help="seconds until a run counts as hung; other bounds grow with it",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    os.umask(0o022)
    harness.DEADLINE = options.deadline
    if options.control:
        import control

        return control.main(options.jobs)
    if options.list:
        for _, cases in chosen(options.section, options.case, True, options.short):
            for case in cases:
                print("%s%s\t%s" % (case.id, " (long)" if case.slow else "", case.what))
        return 0
    if not options.handoff:
        parser.error("--handoff PATH is needed")
    handoff = str(pathlib.Path(options.handoff).resolve())
    tables = chosen(options.section, options.case, options.long, options.short)
    if not tables:
        parser.error("no such case")
    failing, total = run(handoff, tables, options.long, options.jobs)
    print("%d cases, %d pass" % (total, total - len(failing)))
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
