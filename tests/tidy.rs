//! The order of the house: what a file may name, and who may import whom.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A line of code, without its comment.
struct Line {
    /// The file, as it is called under the crate's folder.
    file: String,
    number: usize,
    text: String,
}

impl Line {
    fn names(&self, path: &str) -> bool {
        // `path` as a whole word: not the tail or the head of a longer name.
        let is_word = |found: char| found.is_alphanumeric() || found == '_';
        self.text.match_indices(path).any(|(at, _)| {
            let before = self.text[..at].chars().next_back();
            let after = self.text[at + path.len()..].chars().next();
            let within_before = before.is_some_and(is_word);
            let within_after = path.ends_with(is_word) && after.is_some_and(is_word);
            !within_before && !within_after
        })
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_in(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn files(folder: &str) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    files_in(&root().join(folder), &mut paths);
    let named = paths.into_iter().map(|path| {
        let name = path
            .strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let text = fs::read_to_string(&path).unwrap();
        (name, text)
    });
    named.collect()
}

/// The product's code: no comments, and nothing from the tests at the end of a file on.
fn code() -> Vec<Line> {
    let mut lines = Vec::new();
    for (file, text) in files("src") {
        let product = text
            .lines()
            .take_while(|line| line.trim() != "#[cfg(test)]");
        for (index, line) in product.enumerate() {
            let text = match line.split_once("//") {
                // A URL in a text is no comment.
                Some((before, _)) if !before.ends_with(':') => before,
                _ => line,
            };
            lines.push(Line {
                file: file.clone(),
                number: index + 1,
                text: text.to_owned(),
            });
        }
    }
    assert!(lines.len() > 5000, "the code is found");
    lines
}

fn is_pure(file: &str) -> bool {
    let name = file.strip_prefix("src/").unwrap();
    !name.contains('/') && name != "main.rs"
}

/// Demands that nothing outside the places where it may is named.
fn assert_only_in(names: &[&str], may: impl Fn(&str) -> bool) {
    let found: Vec<String> = code()
        .iter()
        .filter(|line| !may(&line.file) && names.iter().any(|name| line.names(name)))
        .map(|line| format!("{}:{}: {}", line.file, line.number, line.text.trim()))
        .collect();
    assert!(found.is_empty(), "{names:?} named in\n{}", found.join("\n"));
}

/// Demands that a crate is named in the files and folders of its owners, and in each of them.
fn assert_owned(name: &str, owners: &[&str]) {
    let name = &format!("{name}::");
    let is_owner = |file: &str| {
        owners
            .iter()
            .any(|owner| file == *owner || (owner.ends_with('/') && file.starts_with(owner)))
    };
    assert_only_in(&[name], is_owner);
    for owner in owners {
        let used = code().iter().any(|line| {
            (line.file == *owner || (owner.ends_with('/') && line.file.starts_with(owner)))
                && line.names(name)
        });
        assert!(used, "{owner} does not name {name} any more");
    }
}

#[test]
fn a_file_directly_under_src_is_pure() {
    let world = [
        "std::fs",
        "std::process",
        "std::env",
        "std::net::TcpStream",
        "std::net::UdpSocket",
        "ToSocketAddrs",
        "std::thread",
        "std::os",
        "std::io",
        "SystemTime",
        "Instant",
        "getrandom",
        "tempfile",
        "rustix",
        "println!",
        "print!",
        "eprintln!",
        "eprint!",
        "dbg!",
        "static mut",
        "thread_local!",
    ];
    assert_only_in(&world, |file| !is_pure(file));
}

#[test]
fn a_crate_is_named_only_where_it_is_owned() {
    for (name, owners) in [
        ("rusqlite", ["src/store/"].as_slice()),
        ("ed25519_dalek", &["src/key.rs", "src/home/key_text.rs"]),
        ("curve25519_dalek", &["src/key.rs"]),
        ("sha2", &["src/hash.rs"]),
        ("ssh_key", &["src/home/key_text.rs"]),
        ("getrandom", &["src/home/clock.rs", "src/probe/output.rs"]),
        ("clap", &["src/cli/"]),
        ("clap_complete", &["src/cli/"]),
        ("clap_mangen", &["src/cli/help.rs"]),
        ("indicatif", &["src/cli/output.rs"]),
        ("process_wrap", &["src/probe/run.rs"]),
        ("signal_hook", &["src/cli/observe.rs", "src/probe/relay.rs"]),
        ("jsonschema", &["src/probe/schema.rs"]),
        ("ureq", &["src/probe/network.rs"]),
        ("base64ct", &["src/export.rs", "src/verifier_key.rs"]),
        ("semver", &["src/version.rs"]),
        ("jiff", &["src/types.rs"]),
        ("rmcp", &["src/mcp/"]),
        ("tokio", &["src/mcp/"]),
        ("toml", &["src/hooks/guards.rs"]),
        ("jsonc_parser", &["src/hooks/settings.rs"]),
        ("similar", &["src/hooks/settings.rs"]),
    ] {
        assert_owned(name, owners);
    }
}

/// Probes are started in the one, and this very program, for a call of a tool, in the other.
#[test]
fn a_process_is_started_in_one_file_of_probes_and_one_of_the_server() {
    let starts = |line: &Line| {
        line.names("std::process") && !line.names("std::process::ExitCode")
            || line.names("tokio::process")
    };
    let found: BTreeSet<String> = code()
        .iter()
        .filter(|line| starts(line))
        .map(|line| line.file.clone())
        .collect();
    let owners = ["src/mcp/run.rs", "src/probe/run.rs"].map(str::to_owned);
    assert_eq!(found, BTreeSet::from(owners));
}

#[test]
fn the_server_starts_no_program_but_this_one() {
    let of_server = |line: &&Line| line.file == "src/mcp/run.rs";
    let code = code();
    let started: Vec<&str> = code
        .iter()
        .filter(of_server)
        .filter(|line| line.names("Command::new"))
        .map(|line| line.text.trim())
        .collect();
    assert_eq!(started, ["Command::new(&self.program)"]);
    let program = code
        .iter()
        .filter(of_server)
        .any(|line| line.text.trim() == "program: std::env::current_exe()?,");
    assert!(program, "the program is another one");
}

/// Standard output is the command line's, and, while it serves a client, the protocol's.
#[test]
fn only_output_prints_and_the_server_its_lines() {
    let prints = ["println!", "print!", "eprintln!", "eprint!", "io::stderr"];
    let output = "src/cli/output.rs";
    assert_only_in(&prints, |file| file == output);
    assert_only_in(&["io::stdout"], |file| {
        [output, "src/mcp/mod.rs"].contains(&file)
    });
}

/// What a file is, in the order in which files may import each other.
fn imports(file: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code().iter().filter(|line| line.file == file) {
        let mut rest = line.text.as_str();
        while let Some((_, after)) = rest.split_once("crate::") {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
            let module = &after[..end.unwrap_or(after.len())];
            if module == "{" || module.is_empty() {
                panic!("{file}: import modules one by one, so that this test can see them");
            }
            found.push(module.to_owned());
            rest = after;
        }
    }
    found
}

fn assert_imports_none_of(files_of: impl Fn(&str) -> bool, modules: &[&str]) {
    let mut seen = 0;
    for (file, _) in files("src") {
        if !files_of(&file) {
            continue;
        }
        seen += 1;
        for import in imports(&file) {
            assert!(
                !modules.contains(&import.as_str()),
                "{file} imports {import}"
            );
        }
    }
    assert!(seen > 0, "no such file");
}

/// What comes after the types, hashes and keys.
const MEANING: [&str; 18] = [
    "event",
    "format",
    "chain",
    "facts",
    "state",
    "refusal",
    "rules",
    "rules_claims",
    "rules_evidence",
    "fold",
    "verdict",
    "judge",
    "slice",
    "command",
    "command_claims",
    "append",
    "boundary",
    "reverify",
];
/// What touches the world.
const WORLD: [&str; 4] = ["home", "probe", "cli", "store"];

#[test]
fn types_hash_and_key_know_nothing_of_what_is_built_on_them() {
    let types = |file: &str| file == "src/types.rs";
    assert_imports_none_of(types, &[&MEANING[..], &WORLD, &["hash", "key"]].concat());
    let hash = |file: &str| file == "src/hash.rs";
    assert_imports_none_of(hash, &[&MEANING[..], &WORLD, &["key"]].concat());
    let key = |file: &str| file == "src/key.rs";
    assert_imports_none_of(key, &[&MEANING[..], &WORLD].concat());
}

#[test]
fn the_store_knows_bytes_and_no_events() {
    let above = [&MEANING[..], &["home", "probe", "cli", "key", "probe_spec"]].concat();
    assert_imports_none_of(|file| file.starts_with("src/store/"), &above);
}

#[test]
fn probes_and_rules_know_no_file_and_no_command_line() {
    let rules = |file: &str| {
        [
            "rules", "refusal", "fold", "facts", "state", "verdict", "judge", "boundary", "chain",
            "event", "slice",
        ]
        .iter()
        .any(|name| file.starts_with(&format!("src/{name}")))
    };
    assert_imports_none_of(rules, &WORLD);
    let probe = |file: &str| file.starts_with("src/probe/");
    let judged = ["append", "facts", "state", "refusal", "rules"];
    assert_imports_none_of(probe, &[&["store", "home", "cli"], &judged[..]].concat());
    let home = |file: &str| file.starts_with("src/home/");
    assert_imports_none_of(
        home,
        &["cli", "probe", "rules", "refusal", "state", "facts"],
    );
}

#[test]
fn hooks_know_clients_and_no_ledger() {
    let hooks = |file: &str| file.starts_with("src/hooks/");
    let above = [&MEANING[..], &["cli", "probe", "store", "gate", "key"]].concat();
    assert_imports_none_of(hooks, &above);
}

#[test]
fn nobody_imports_the_command_line_but_main_and_the_server() {
    let beneath = |file: &str| {
        !["src/cli/", "src/mcp/"]
            .iter()
            .any(|folder| file.starts_with(folder))
            && file != "src/main.rs"
    };
    assert_imports_none_of(beneath, &["cli", "mcp"]);
}

/// The server runs the program for each call: it opens no ledger and knows no event.
#[test]
fn the_server_knows_the_command_line_and_no_ledger() {
    let above = [
        &MEANING[..],
        &["home", "probe", "store", "key", "probe_spec"],
    ]
    .concat();
    assert_imports_none_of(|file| file.starts_with("src/mcp/"), &above);
}

#[test]
fn nothing_is_left_to_be_done_later() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    for (file, text) in files("src").into_iter().chain(files("tests")) {
        for (index, line) in text.lines().enumerate() {
            let is_mark = |mark: &&str| {
                let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
                words.into_iter().any(|word| word == *mark)
            };
            let quoted = line.contains('"');
            let found = marks.iter().find(|mark| is_mark(mark) && !quoted);
            assert_eq!(found, None, "{file}:{}", index + 1);
        }
    }
}

#[test]
fn a_line_is_at_most_a_hundred_columns_wide() {
    let mut wide = Vec::new();
    for (file, text) in files("src") {
        for (index, line) in text.lines().enumerate() {
            // A text literal by itself is as long as the text.
            let literal = ["\"", "r#\""]
                .iter()
                .any(|it| line.trim_start().starts_with(it));
            if line.chars().count() > 100 && !literal {
                wide.push(format!("{file}:{}", index + 1));
            }
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn every_file_of_tests_has_a_test() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("tests")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let tests = text.contains("#[test]") || text.contains("proptest!");
            assert!(tests, "{} has no test", path.display());
            seen += 1;
        }
    }
    assert!(seen > 10);
}
