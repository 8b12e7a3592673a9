//! The site of a host: its name without `www.`, because owners redirect from the one to the other.

/// The site of a canonical host. The port stays, since another port is another server.
pub fn site(host: &str) -> &str {
    match host.strip_prefix("www.") {
        // `www.com` is a name of its own, and has no name above it but a zone.
        Some(rest) if rest.contains('.') => rest,
        _ => host,
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
