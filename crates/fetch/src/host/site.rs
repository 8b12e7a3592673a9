//! The site of a host: its name without `www.`, because owners redirect from the one to the other.

use super::Host;

/// The site of a canonical host. The port stays, since another port is another server.
pub fn site(host: &str) -> &str {
    match host.strip_prefix("www.") {
        // `www.com` is a name of its own, and has no name above it but a zone.
        Some(rest) if rest.contains('.') => rest,
        _ => host,
    }
}

/// Whether two URLs are of one site.
pub fn is_same_site(one: &str, other: &str) -> bool {
    match (Host::of(one), Host::of(other)) {
        (Ok(one), Ok(other)) => site(one.as_str()) == site(other.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn www_belongs_to_the_name_behind_it() {
        for (host, expected) in [
            ("www.example.com", "example.com"),
            ("example.com", "example.com"),
            ("www.example.com:8080", "example.com:8080"),
            ("www.com", "www.com"),
            ("www2.example.com", "www2.example.com"),
            ("shop.example.com", "shop.example.com"),
            ("[::1]:8080", "[::1]:8080"),
            ("127.0.0.1:80", "127.0.0.1:80"),
        ] {
            assert_eq!(site(host), expected);
        }
    }
}
