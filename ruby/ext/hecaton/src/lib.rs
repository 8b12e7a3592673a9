//! The HTTP client engine.
