//! Sitemaps.
