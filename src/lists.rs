//! The closed lists of the wire format: what an event may say by one of a few words.

/// Declares a closed list of the wire format.
macro_rules! closed {
    ($(
        $(#[$doc:meta])* $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)*
        }
    )*) => {
        $($(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every value of the list.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The value's text on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        })*
    };
}
pub(crate) use closed;

closed! {
    /// What a key may do.
    Role {
        /// Authorise and revoke recorders, discard others' flags, erase captures.
        Admin = "admin",
        /// Run sessions.
        Recorder = "recorder",
    }

    /// What an axis is a property of.
    AxisClass {
        /// Where and as whom things run.
        ExecutionTopology = "execution_topology",
        /// Which version of something is there.
        DependencyVersion = "dependency_version",
        /// What can be reached.
        Reachability = "reachability",
    }

    /// Whether a redacted value is that of a recorded axis.
    Comparison {
        /// It is.
        Same = "same",
        /// It is not.
        Different = "different",
    }

    /// Why a claim was discarded.
    DiscardWhy {
        /// It was not derived from anything.
        NoDerivation = "no_derivation",
        /// There was no step that would verify it.
        NoStep = "no_step",
        /// The step could not fail, or would show nothing.
        VacuousStep = "vacuous_step",
        /// The same is already admissible.
        Redundant = "redundant",
        /// A person withdrew the flag.
        Withdrawn = "withdrawn",
    }

    /// Why a promotion was refused.
    PromotionRefusedWhy {
        /// The step did not succeed.
        ProbeFailed = "probe_failed",
        /// An axis it needs did not hold before and after.
        AxisNotHeld = "axis_not_held",
        /// A claim it is derived from is not admissible.
        FromNotAdmissible = "from_not_admissible",
    }

    /// Why an axis was not probed.
    NotProbedWhy {
        /// The deadline came first.
        NotRun = "not_run",
        /// Running probes was forbidden.
        NoExec = "no_exec",
        /// The recorder was not trusted to say what to run.
        Untrusted = "untrusted",
        /// The salt of the redacted value is gone or is another.
        SaltMissing = "salt_missing",
    }

    /// Whether an action was let run.
    GateDecision {
        /// It was.
        Allowed = "allowed",
        /// It was not.
        Refused = "refused",
    }
}
