//! What each tool takes and is for: the table that clients are told of.

use super::kind::Kind;
use super::parameters::{Count, Parameter, Place};
use super::tools::{Definition, Effect, Rest};

/// Longest briefing that may be asked for, in characters: what is told beside it has room too.
const BRIEF_CHARACTERS_MAX: u64 = 12_000;
/// Shortest, as the command line takes it.
const BRIEF_CHARACTERS_MIN: u64 = 500;

const fn parameter(
    name: &'static str,
    count: Count,
    kind: Kind,
    place: Place,
    help: &'static str,
) -> Parameter {
    Parameter {
        name,
        count,
        kind,
        place,
        help,
    }
}

const fn text(
    name: &'static str,
    count: Count,
    option: &'static str,
    help: &'static str,
) -> Parameter {
    parameter(name, count, Kind::Text, Place::Option(option), help)
}

const fn switch(name: &'static str, option: &'static str, help: &'static str) -> Parameter {
    parameter(
        name,
        Count::Optional,
        Kind::Text,
        Place::Switch(option),
        help,
    )
}

/// The claim that a tool is about.
const ID: Parameter = parameter("id", Count::Required, Kind::Claim, Place::Word, "");
const CLAIMS: Parameter = parameter(
    "claims",
    Count::RequiredMany,
    Kind::Claim,
    Place::AfterDashes,
    "",
);
const REASON: Parameter = text("reason", Count::Required, "--reason", "");

const SESSION: &[Parameter] = &[parameter(
    "session",
    Count::Optional,
    Kind::Seq,
    Place::Option("--session"),
    "As resume gave it",
)];

/// What a support stands on.
const GROUNDS: &[Parameter] = &[
    parameter(
        "needs",
        Count::Many,
        Kind::AxisReference,
        Place::Option("--needs"),
        "Axes without which it would not hold",
    ),
    text(
        "environment_independent",
        Count::Optional,
        "--environment-independent",
        "In place of needs: why it holds in any environment; weak",
    ),
    parameter(
        "from",
        Count::Many,
        Kind::Claim,
        Place::Option("--from"),
        "Claims it derives from",
    ),
];

const PROBE: &[Parameter] = &[
    parameter(
        "argv",
        Count::Many,
        Kind::Text,
        Place::AfterDashes,
        "Program and arguments; no shell",
    ),
    text(
        "check",
        Count::Optional,
        "--check",
        "In place of argv: os, arch, user, env=NAME, file-sha256=PATH, tcp=HOST:PORT, http=URL",
    ),
    text(
        "extract",
        Count::Optional,
        "--extract",
        "trim (default), line:N, regex:RE, json:/PTR, sha256, none",
    ),
    text(
        "expect",
        Count::Many,
        "--expect",
        "value=T, value~RE, stdout~RE, stderr~RE, semver=REQ, json:/PTR=T, exit=N",
    ),
    switch(
        "exit_only",
        "--exit-only",
        "Exit code is the whole proof; weak",
    ),
    text("timeout", Count::Optional, "--timeout", "Such as 30s, 5m"),
    text("cwd", Count::Optional, "--cwd", ""),
    text("env", Count::Many, "--env", "Variables passed on, by name"),
    switch("shell", "--shell", "argv is one line for /bin/sh"),
    switch("redact", "--redact", "Keep the value out of the ledger"),
];

const RECEIPT: &[Parameter] = &[parameter(
    "receipt",
    Count::Optional,
    Kind::Seq,
    Place::Option("--receipt"),
    "In place of a probe: a receipt of this session",
)];

/// How inherited axes are probed again.
const REPROBE: &[Parameter] = &[
    parameter(
        "only",
        Count::Many,
        Kind::Claim,
        Place::Option("--only"),
        "Probe for these claims only",
    ),
    text(
        "deadline",
        Count::Optional,
        "--deadline",
        "Such as 60s (default)",
    ),
    switch("no_exec", "--no-exec", "Run no inherited command"),
];

/// The tools, in the order in which a session uses them.
pub(super) const TOOLS: &[Definition] = &[
    Definition {
        name: "resume",
        effect: Effect::Runs,
        rest: Rest::State,
        description: "Start here, once: verify the ledger, open a session on what earlier ones \
                      sealed, probe their axes again, and brief. Keep `session` of the answer. \
                      Exit 1: a claim of require is not admissible (the session is open).",
        parameters: &[
            &[
                parameter(
                    "agent",
                    Count::Required,
                    Kind::Agent,
                    Place::Option("--agent"),
                    "Your name",
                ),
                text("purpose", Count::Optional, "--purpose", ""),
                parameter(
                    "inherit",
                    Count::Many,
                    Kind::Seq,
                    Place::Option("--inherit"),
                    "Sealed sessions (default: all not yet inherited)",
                ),
                parameter(
                    "require",
                    Count::Many,
                    Kind::Claim,
                    Place::Option("--require"),
                    "",
                ),
            ],
            REPROBE,
        ],
    },
    Definition {
        name: "brief",
        effect: Effect::Asks,
        rest: Rest::Same,
        description: "What may not, and what may, be acted on: blocked claims, claims to verify \
                      first, claims that may be relied on, and the command each needs.",
        parameters: &[
            &[parameter(
                "max_chars",
                Count::Optional,
                Kind::Number(BRIEF_CHARACTERS_MIN, BRIEF_CHARACTERS_MAX),
                Place::Option("--max-chars"),
                "Of the text (6000)",
            )],
            SESSION,
        ],
    },
    Definition {
        name: "can",
        effect: Effect::Asks,
        rest: Rest::Same,
        description: "Call right before you act on claims. Exit 0: all may be acted on. Exit 1: \
                      do not act on those with admissible false; because says why, next what \
                      would help. It judges by what was seen last; reverify looks again.",
        parameters: &[&[CLAIMS], SESSION],
    },
    Definition {
        name: "reverify",
        effect: Effect::Runs,
        rest: Rest::State,
        description: "Probe inherited axes again, when time has passed since resume. Exit 1: a \
                      claim asked about (default: all inherited) is blocked.",
        parameters: &[REPROBE, SESSION],
    },
    Definition {
        name: "probe",
        effect: Effect::Runs,
        rest: Rest::State,
        description: "Run a check and record what was seen as a receipt. Exit 1: it failed or an \
                      expectation was not met (recorded all the same).",
        parameters: &[PROBE, SESSION],
    },
    Definition {
        name: "axis",
        effect: Effect::Runs,
        rest: Rest::State,
        description: "Record a property of the environment that claims will need (which host, \
                      which version, what answers), with the probe that reads it. Exit 1: the \
                      probe failed or holds_if is not satisfied; no axis.",
        parameters: &[
            &[
                parameter("name", Count::Required, Kind::Axis, Place::Word, ""),
                parameter(
                    "class",
                    Count::Required,
                    Kind::Choice(&["execution_topology", "dependency_version", "reachability"]),
                    Place::Option("--class"),
                    "Where it runs, which versions, what is reached",
                ),
                text(
                    "holds_if",
                    Count::Optional,
                    "--holds-if",
                    "exact (default), one-of=A,B, semver=REQ, present",
                ),
                text(
                    "max_age",
                    Count::Optional,
                    "--max-age",
                    "Such as 12h (default)",
                ),
            ],
            PROBE,
            RECEIPT,
            SESSION,
        ],
    },
    Definition {
        name: "claim",
        effect: Effect::Runs,
        rest: Rest::State,
        description: "Record a conclusion that you verified: its statement, the axes it needs, \
                      and a probe that proves it now (more than its exit code). What you only \
                      believe is a flag. Exit 1: refused by a rule or not proved; no claim.",
        parameters: &[
            &[
                ID,
                text(
                    "statement",
                    Count::Optional,
                    "--statement",
                    "May be left out once the id has one",
                ),
            ],
            GROUNDS,
            PROBE,
            RECEIPT,
            SESSION,
        ],
    },
    Definition {
        name: "flag",
        effect: Effect::Records,
        rest: Rest::State,
        description: "Record a conclusion that you derived and did not verify, with the step (a \
                      probe with an expectation, not run now) that would. Successors must not \
                      act on it before promote. Exit 1: recorded as discarded (no derivation, an \
                      empty step, already covered).",
        parameters: &[
            &[
                ID,
                text("statement", Count::Required, "--statement", ""),
                text(
                    "because",
                    Count::Required,
                    "--because",
                    "What it was derived from",
                ),
                parameter(
                    "needs",
                    Count::Many,
                    Kind::Axis,
                    Place::Option("--needs"),
                    "Axes its promotion will need",
                ),
                text(
                    "environment_independent",
                    Count::Optional,
                    "--environment-independent",
                    "Why it would hold in any environment",
                ),
            ],
            PROBE,
            SESSION,
        ],
    },
    Definition {
        name: "promote",
        effect: Effect::Runs,
        rest: Rest::State,
        description: "Run a flag's step now; if it is met, the claim is verified. Exit 1: not \
                      met; it stays unverified.",
        parameters: &[&[ID], GROUNDS, SESSION],
    },
    Definition {
        name: "retract",
        effect: Effect::Records,
        rest: Rest::State,
        description: "Withdraw claims that turned out wrong, in every session.",
        parameters: &[&[CLAIMS, REASON], SESSION],
    },
    Definition {
        name: "discard",
        effect: Effect::Records,
        rest: Rest::State,
        description: "Close a flag of yours without verifying it.",
        parameters: &[&[ID, REASON], SESSION],
    },
    Definition {
        name: "ambient",
        effect: Effect::Records,
        rest: Rest::State,
        description: "Declare which axes or properties may drift without invalidating anything; \
                      seal needs it. Give allow, or none: true.",
        parameters: &[
            &[
                parameter("allow", Count::Many, Kind::Text, Place::Allowance, ""),
                switch("none", "--none", "Nothing may drift"),
            ],
            SESSION,
        ],
    },
    Definition {
        name: "seal",
        effect: Effect::Records,
        rest: Rest::State,
        description: "Call at the end: close the session, so that others inherit it. Claims of \
                      a session that is not sealed are blocked for others.",
        parameters: &[SESSION],
    },
    Definition {
        name: "verify",
        effect: Effect::Asks,
        rest: Rest::Same,
        description: "Is the ledger, or a file that somebody handed you, the chain that was \
                      signed? Runs none of its commands. Exit 3: cannot be judged; 4: tampered \
                      with, or holds what a rule refuses.",
        parameters: &[&[
            parameter(
                "file",
                Count::Optional,
                Kind::Text,
                Place::AfterDashes,
                "Default: the ledger at hand",
            ),
            text(
                "expect",
                Count::Optional,
                "--expect",
                "A head line it must hold",
            ),
        ]],
    },
];
