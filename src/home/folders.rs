//! This person's folders, by the XDG Base Directory Specification, and what lies in them.

use super::files;
use super::paths::PathError;
use crate::types::LedgerId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Name of this program's folder in each of the XDG folders.
const PROGRAM_FOLDER: &str = "handoff";

/// The three folders in which this program keeps what is not the ledger's. Each is told only when
/// it is asked for: a command that needs none works without a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    data: Option<PathBuf>,
    config: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl Folders {
    /// The folders of this process' user. Without `HOME`, the system's user database is asked.
    pub fn of_process() -> Folders {
        Folders::of_variables(|name| match name {
            "HOME" => std::env::home_dir().map(PathBuf::into_os_string),
            other => std::env::var_os(other),
        })
    }

    /// The folders that `XDG_DATA_HOME`, `XDG_CONFIG_HOME`, `XDG_STATE_HOME` and `HOME` name. Of
    /// these, a path that is not absolute is ignored, as the specification demands.
    pub fn of_variables(variable: impl Fn(&str) -> Option<OsString>) -> Folders {
        let absolute = |name: &str| {
            let path = PathBuf::from(variable(name)?);
            path.is_absolute().then_some(path)
        };
        let folder = |name: &str, under_home: &str| {
            let base = absolute(name).or_else(|| Some(absolute("HOME")?.join(under_home)))?;
            Some(base.join(PROGRAM_FOLDER))
        };
        Folders {
            data: folder("XDG_DATA_HOME", ".local/share"),
            config: folder("XDG_CONFIG_HOME", ".config"),
            state: folder("XDG_STATE_HOME", ".local/state"),
        }
    }

    /// The folder of signing keys.
    ///
    /// # Errors
    ///
    /// [`PathError::NoHome`], here and below.
    pub fn keys(&self) -> Result<PathBuf, PathError> {
        Ok(known(&self.data, "XDG_DATA_HOME")?.join("keys"))
    }

    /// The file of root pins.
    pub fn pins(&self) -> Result<PathBuf, PathError> {
        Ok(known(&self.config, "XDG_CONFIG_HOME")?.join("trust"))
    }

    /// The key of this machine as a witness, apart from those that sign events.
    pub fn witness_key(&self) -> Result<PathBuf, PathError> {
        Ok(known(&self.data, "XDG_DATA_HOME")?.join("witness/key.pem"))
    }

    /// The folder of what this machine saw of ledgers as a witness. It lies with the key, whose
    /// word it keeps true, and not with what can be made anew.
    pub fn witnessed(&self) -> Result<PathBuf, PathError> {
        Ok(known(&self.data, "XDG_DATA_HOME")?.join("witness/seen"))
    }

    /// The file of this machine's view of a ledger.
    pub fn view(&self, ledger: &LedgerId) -> Result<PathBuf, PathError> {
        let views = known(&self.state, "XDG_STATE_HOME")?.join("views");
        Ok(views.join(format!("{ledger}.db")))
    }

    /// The file of what this machine remembers of a ledger should its view be lost.
    pub fn memory(&self, ledger: &LedgerId) -> Result<PathBuf, PathError> {
        let views = known(&self.state, "XDG_STATE_HOME")?.join("views");
        Ok(views.join(format!("{ledger}.seen")))
    }

    /// The file of how far this machine came since then.
    pub fn recent(&self, ledger: &LedgerId) -> Result<PathBuf, PathError> {
        let views = known(&self.state, "XDG_STATE_HOME")?.join("views");
        Ok(views.join(format!("{ledger}.recent")))
    }

    /// The folder of what hooks fired last.
    pub fn hooks(&self) -> Result<PathBuf, PathError> {
        Ok(known(&self.state, "XDG_STATE_HOME")?.join("hooks"))
    }

    /// The file that lists which ledger files are this machine's own.
    pub fn own_files(&self) -> Result<PathBuf, PathError> {
        Ok(known(&self.state, "XDG_STATE_HOME")?.join("ledgers"))
    }
}

fn known<'a>(folder: &'a Option<PathBuf>, variable: &'static str) -> Result<&'a Path, PathError> {
    folder.as_deref().ok_or(PathError::NoHome { variable })
}

/// Makes a folder and those above it, each its owner's alone (mode 0700).
///
/// # Errors
///
/// When the system refuses; the error names the folder.
pub fn make_folder(folder: &Path) -> Result<(), PathError> {
    Ok(files::make_folder(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(variables: &[(&str, &str)]) -> Folders {
        Folders::of_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn folders_are_those_of_the_specification() {
        let at_home = folders(&[("HOME", "/h")]);
        assert_eq!(
            at_home.keys().unwrap(),
            Path::new("/h/.local/share/handoff/keys")
        );
        assert_eq!(
            at_home.pins().unwrap(),
            Path::new("/h/.config/handoff/trust")
        );
        let view = format!("/h/.local/state/handoff/views/{}.db", LedgerId::ZERO);
        assert_eq!(at_home.view(&LedgerId::ZERO).unwrap(), Path::new(&view));
        let named = folders(&[("HOME", "/h"), ("XDG_DATA_HOME", "/d")]);
        assert_eq!(named.keys().unwrap(), Path::new("/d/handoff/keys"));
    }

    #[test]
    fn a_path_that_is_not_absolute_names_no_folder() {
        for value in ["", "d", "./d", "~"] {
            let relative = folders(&[("HOME", "/h"), ("XDG_DATA_HOME", value)]);
            assert_eq!(relative, folders(&[("HOME", "/h")]), "{value}");
            let homeless = folders(&[("HOME", value)]);
            let refused = homeless.keys().unwrap_err();
            assert!(matches!(refused, PathError::NoHome { .. }), "{refused}");
            assert!(refused.next().contains("XDG_DATA_HOME"));
        }
        let without_home = folders(&[("XDG_CONFIG_HOME", "/c")]);
        assert!(without_home.pins().is_ok() && without_home.keys().is_err());
    }
}
