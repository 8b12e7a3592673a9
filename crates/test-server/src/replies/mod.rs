//! Decides the response to a request, and what delays it.

pub(crate) mod bomb;
pub(crate) mod coding;
pub(crate) mod exposure;
pub(crate) mod held;
pub(crate) mod reply;
pub(crate) mod special;
pub(crate) mod stream;
