"""Makes rules.json of gitleaks' own configuration: python3 convert.py gitleaks.toml > rules.json

Left out: rules and exceptions that are about a file's path, for a text in a ledger has none, and the
exceptions of Google's keys, which are keys themselves. Entropies are in thousandths of a bit.
"""

import hashlib
import json
import re
import sys
import tomllib

text = open(sys.argv[1], "rb").read()
config = tomllib.loads(text.decode())


def escaped(pattern):
    """In Go a brace that begins no count is itself."""
    return re.sub(r"(?<!\\)\{(?!\d)", r"\\{", pattern)


def exceptions(rule):
    if rule["id"] == "gcp-api-key":
        return
    for allow in rule.get("allowlists", []):
        if allow.get("condition") == "AND" or not (allow.get("regexes") or allow.get("stopwords")):
            continue
        yield {
            "target": allow.get("regexTarget", "secret"),
            "regexes": [escaped(it) for it in allow.get("regexes", [])],
            "stopwords": allow.get("stopwords", []),
        }


def converted(rule):
    return {
        "id": rule["id"],
        "regex": escaped(rule["regex"]),
        "keywords": rule.get("keywords", []),
        "entropy": round(rule.get("entropy", 0) * 1000),
        "group": rule.get("secretGroup", 0),
        "except": list(exceptions(rule)),
    }


everywhere = config["allowlist"]
json.dump(
    {
        "of": "gitleaks config/gitleaks.toml, version 8.30.1, MIT licence: see LICENSE beside this file",
        "sha256": hashlib.sha256(text).hexdigest(),
        "except": {
            "target": "secret",
            "regexes": [escaped(it) for it in everywhere["regexes"]],
            "stopwords": everywhere["stopwords"],
        },
        "rules": [converted(rule) for rule in config["rules"] if "regex" in rule],
    },
    sys.stdout,
    indent=1,
    ensure_ascii=False,
)
print()
