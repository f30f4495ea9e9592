"""Folds change files of one register into its state, and prints it as JSON lines.

    pip install fastavro
    python read_change_file.py edition-1.avro edition-2.avro …

Change files are Avro object containers, one per edition, sorted by key; each carries its own schema. In the archive they
are <register>/changes/<sha256>; `padron editions list --json` names them in order (change_file_sha256).
"""

import json
import sys

from fastavro import reader


def fold(paths):
    state = {}
    for path in paths:
        with open(path, "rb") as file:
            for change in reader(file):
                if change["after"] is None:
                    state.pop(change["ruc"], None)
                else:
                    # The version of a row is the edition that wrote it.
                    state[change["ruc"]] = (change["edition"], change["after"])
    return state


if __name__ == "__main__":
    for key, (edition, row) in sorted(fold(sys.argv[1:]).items()):
        print(json.dumps({"ruc": key, "edition": edition, **row}, ensure_ascii=False))
