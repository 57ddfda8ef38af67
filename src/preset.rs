//! Ready axes for what agents depend on: which there are, and the probe of each.
//!
//! What differs from run to run without meaning anything is in none of them: no host name, no
//! process id, no time.

use crate::check::Check;
use crate::comparator::Comparator;
use crate::env_name::EnvName;
use crate::event::AxisClass;
use crate::expectation::Extraction;
use crate::probe_spec::{Definition, Probe, ProbeError};
use crate::types::{AxisName, ParseError};
use std::fmt;
use std::str::FromStr;

/// What a folder holds at its top if it is that of a git repository.
pub const REPOSITORY: &str = ".git";

/// What tracked files differ in from the commit, by digest; `none` if in nothing. Names alone would
/// not tell that a changed file changed again, and the difference itself would be kept. A ledger
/// that is tracked itself changes with each event, and is none of it.
const CHANGES: &str = "d=$(git diff HEAD --no-ext-diff --no-textconv --no-color --full-index \
                       -- :/ ':(top,exclude,glob)**/.handoff/**') && \
                       if [ \"$d\" ]; then printf %s \"$d\" | git hash-object --stdin; \
                       else echo none; fi";

/// A tool, the manifests that show that a project uses it, and how it tells its version.
struct Tool {
    name: &'static str,
    manifests: &'static [&'static str],
    argv: [&'static str; 2],
    version: &'static str,
}

const TOOLS: [Tool; 5] = [
    Tool {
        name: "rustc",
        manifests: &["Cargo.toml"],
        argv: ["rustc", "--version"],
        version: r"rustc (\S+)",
    },
    Tool {
        name: "node",
        manifests: &["package.json"],
        argv: ["node", "--version"],
        version: r"v(\S+)",
    },
    Tool {
        name: "python3",
        manifests: &["pyproject.toml", "requirements.txt", "setup.py"],
        argv: ["python3", "--version"],
        version: r"Python (\S+)",
    },
    Tool {
        name: "go",
        manifests: &["go.mod"],
        argv: ["go", "version"],
        version: r"go version go(\S+)",
    },
    Tool {
        name: "ruby",
        manifests: &["Gemfile"],
        argv: ["ruby", "--version"],
        version: r"ruby (\S+)",
    },
];

/// Lock files, and what their axes are called.
const LOCKS: [(&str, &str); 10] = [
    ("lock.cargo", "Cargo.lock"),
    ("lock.npm", "package-lock.json"),
    ("lock.yarn", "yarn.lock"),
    ("lock.pnpm", "pnpm-lock.yaml"),
    ("lock.poetry", "poetry.lock"),
    ("lock.uv", "uv.lock"),
    ("lock.pip", "requirements.txt"),
    ("lock.go", "go.sum"),
    ("lock.bundler", "Gemfile.lock"),
    ("lock.composer", "composer.lock"),
];

/// A set of ready axes, by its one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preset {
    /// `project`: platform, git in a repository, toolchain and lockfiles.
    Project,
    /// `platform`: `os`, `arch`.
    Platform,
    /// `identity`: `user`, `privileges`.
    Identity,
    /// `container`: `mount-root`, `netns`.
    Container,
    /// `git`: `git.commit`, and `git.changes` of tracked files since.
    Git,
    /// `toolchain`: the version of each tool whose manifest is there.
    Toolchain,
    /// `lockfiles`: the SHA-256 of each lock file that is there.
    Lockfiles,
    /// `env=NAME`: whether the variable is set, never its value.
    Env(EnvName),
}

impl FromStr for Preset {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "project" => return Ok(Preset::Project),
            "platform" => return Ok(Preset::Platform),
            "identity" => return Ok(Preset::Identity),
            "container" => return Ok(Preset::Container),
            "git" => return Ok(Preset::Git),
            "toolchain" => return Ok(Preset::Toolchain),
            "lockfiles" => return Ok(Preset::Lockfiles),
            _ => {}
        }
        match text.split_once('=') {
            Some(("env", name)) => name.parse().map(Preset::Env),
            Some(_) | None => Err(ParseError::new(
                "a preset: project, platform, identity, container, git, toolchain, lockfiles or \
                 env=NAME",
                text,
            )),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preset::Project => f.write_str("project"),
            Preset::Platform => f.write_str("platform"),
            Preset::Identity => f.write_str("identity"),
            Preset::Container => f.write_str("container"),
            Preset::Git => f.write_str("git"),
            Preset::Toolchain => f.write_str("toolchain"),
            Preset::Lockfiles => f.write_str("lockfiles"),
            Preset::Env(name) => write!(f, "env={name}"),
        }
    }
}

/// An axis that is ready to be probed and recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// What it is called.
    pub name: AxisName,
    /// Its class.
    pub class: AxisClass,
    /// When it holds.
    pub comparator: Comparator,
    /// What tells its value, run in the session's root.
    pub probe: Probe,
}

impl Ready {
    fn new(name: &str, class: AxisClass, definition: Definition) -> Result<Ready, PresetError> {
        Ok(Ready {
            name: name.parse()?,
            class,
            comparator: Comparator::Exact,
            probe: Probe::new(definition)?,
        })
    }

    fn checked(name: &str, class: AxisClass, check: Check) -> Result<Ready, PresetError> {
        Ready::new(name, class, Definition::check(check))
    }
}

/// Why there is no axis, or none of a name of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    /// A name or a part of a probe is none.
    #[error(transparent)]
    Text(#[from] ParseError),
    /// What was put together is no probe.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// Two variables differ in case alone, in which names of axes cannot.
    #[error("two variables would be one axis, {axis}: names of axes have no capitals")]
    OneNameForTwo {
        /// The axis.
        axis: AxisName,
    },
}

/// The axes of `presets` in their order, each once; `is_there` tells of a name whether the
/// session's root holds a file called so, or, for [`REPOSITORY`], lies in a repository.
///
/// # Errors
/// If a variable's axis would have no name, or another's.
pub fn axes(
    presets: &[Preset],
    is_there: impl Fn(&str) -> bool,
) -> Result<Vec<Ready>, PresetError> {
    let mut all: Vec<Ready> = Vec::new();
    for preset in presets {
        for ready in of(preset, &is_there)? {
            match all.iter().find(|before| before.name == ready.name) {
                None => all.push(ready),
                Some(before) if *before == ready => {}
                Some(_) => return Err(PresetError::OneNameForTwo { axis: ready.name }),
            }
        }
    }
    Ok(all)
}

/// The axes of one preset; none if it is of files of which none is there.
///
/// # Errors
/// As [`axes`].
pub fn of(preset: &Preset, is_there: &impl Fn(&str) -> bool) -> Result<Vec<Ready>, PresetError> {
    let topology = |name, check| Ready::checked(name, AxisClass::ExecutionTopology, check);
    match preset {
        Preset::Project => {
            let mut all = of(&Preset::Platform, is_there)?;
            if is_there(REPOSITORY) {
                all.extend(of(&Preset::Git, is_there)?);
            }
            all.extend(of(&Preset::Toolchain, is_there)?);
            all.extend(of(&Preset::Lockfiles, is_there)?);
            Ok(all)
        }
        Preset::Platform => Ok(vec![
            topology("os", Check::Os)?,
            topology("arch", Check::Arch)?,
        ]),
        Preset::Identity => Ok(vec![
            topology("user", Check::User)?,
            topology("privileges", Check::Privileges)?,
        ]),
        Preset::Container => Ok(vec![
            topology("mount-root", Check::MountRoot)?,
            topology("netns", Check::NetworkNamespace)?,
        ]),
        Preset::Git => Ok(vec![
            version(
                "git.commit",
                &["git", "rev-parse", "HEAD"],
                Extraction::Trim,
            )?,
            Ready::new(
                "git.changes",
                AxisClass::DependencyVersion,
                Definition::script(CHANGES),
            )?,
        ]),
        Preset::Toolchain => TOOLS
            .iter()
            .filter(|tool| tool.manifests.iter().any(|manifest| is_there(manifest)))
            .map(|tool| {
                let extract = Extraction::Regex(tool.version.parse()?);
                version(tool.name, &tool.argv, extract)
            })
            .collect(),
        Preset::Lockfiles => LOCKS
            .iter()
            .filter(|(_, file)| is_there(file))
            .map(|(name, file)| {
                let check = Check::FileSha256(file.parse()?);
                Ready::checked(name, AxisClass::DependencyVersion, check)
            })
            .collect(),
        Preset::Env(variable) => {
            let name = format!("env.{}", variable.as_str().to_ascii_lowercase());
            Ok(vec![topology(&name, Check::EnvSet(variable.clone()))?])
        }
    }
}

fn version(name: &str, argv: &[&str], extract: Extraction) -> Result<Ready, PresetError> {
    let definition = Definition {
        extract,
        ..Definition::command(argv.iter().map(|word| (*word).to_owned()))
    };
    Ready::new(name, AxisClass::DependencyVersion, definition)
}

/// The files of which a preset needs one in order to say anything; none if it needs none.
pub fn files(preset: &Preset) -> Vec<&'static str> {
    match preset {
        Preset::Toolchain => TOOLS
            .iter()
            .flat_map(|tool| tool.manifests)
            .copied()
            .collect(),
        Preset::Lockfiles => LOCKS.iter().map(|(_, file)| *file).collect(),
        Preset::Project
        | Preset::Platform
        | Preset::Identity
        | Preset::Container
        | Preset::Git
        | Preset::Env(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 7] = [
        "project",
        "platform",
        "identity",
        "container",
        "git",
        "toolchain",
        "lockfiles",
    ];

    fn names(presets: &str, there: &[&str]) -> Vec<String> {
        let presets: Vec<Preset> = presets.split(',').map(|it| it.parse().unwrap()).collect();
        let ready = axes(&presets, |name| there.contains(&name)).unwrap();
        ready.iter().map(|it| it.name.to_string()).collect()
    }

    #[test]
    fn a_preset_has_one_spelling() {
        for text in ALL.iter().chain(&["env=CI"]) {
            assert_eq!(text.parse::<Preset>().unwrap().to_string(), *text);
        }
        for text in ["", "Git", "env", "env=", "env=1", "hostname", "pid", "time"] {
            assert!(text.parse::<Preset>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_project_is_its_platform_and_what_of_it_is_there() {
        assert_eq!(names("project", &[]), ["os", "arch"]);
        let there = [REPOSITORY, "Cargo.toml", "Cargo.lock", "requirements.txt"];
        let expected = [
            "os",
            "arch",
            "git.commit",
            "git.changes",
            "rustc",
            "python3",
            "lock.cargo",
            "lock.pip",
        ];
        assert_eq!(names("project", &there), expected);
    }

    #[test]
    fn every_tool_and_lock_file_gives_an_axis_of_its_own() {
        let tools = files(&Preset::Toolchain);
        assert_eq!(names("toolchain", &tools).len(), TOOLS.len());
        let locks = files(&Preset::Lockfiles);
        assert_eq!(names("lockfiles", &locks).len(), LOCKS.len());
        assert!(names("toolchain,lockfiles", &[]).is_empty());
    }

    #[test]
    fn an_axis_that_two_presets_name_is_there_once() {
        assert_eq!(names("platform,project,platform", &[]), ["os", "arch"]);
        assert_eq!(names("env=CI,env=CI", &[]), ["env.ci"]);
    }

    #[test]
    fn two_variables_are_never_one_axis() {
        let presets = ["env=ci", "env=CI"].map(|text| text.parse().unwrap());
        let axis = "env.ci".parse().unwrap();
        let error = axes(&presets, |_| false).unwrap_err();
        assert_eq!(error, PresetError::OneNameForTwo { axis });
        let long = format!("env={}", "A".repeat(64)).parse().unwrap();
        assert!(matches!(
            axes(&[long], |_| false),
            Err(PresetError::Text(_))
        ));
    }

    #[test]
    fn nothing_of_a_preset_is_constant_or_names_the_host_the_process_or_the_time() {
        let presets = ALL.map(|text| text.parse().unwrap());
        let ready = axes(&presets, |_| true).unwrap();
        assert!(ready.len() > 20);
        for it in ready {
            assert!(!crate::vacuous::is_constant(&it.probe), "{}", it.name);
            let text = serde_json::to_string(&it.probe).unwrap();
            for word in ["hostname", "uname", "date", "$$", "uptime"] {
                assert!(!text.contains(word), "{}: {text}", it.name);
            }
        }
    }
}
