//! The sin of a client, which the other files ask for at the place where it is committed.

/// The sin of a client, if it has one. Each case names the sin that proves it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sins(pub(super) Option<String>);

impl Sins {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.as_deref() == Some(name)
    }
}
