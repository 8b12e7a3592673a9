//! The connections of each address that may be a stranger's, and their limit.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

/// Most connections of one address.
const MOST_OF_ADDRESS: usize = 256;

/// The connected addresses.
#[derive(Clone, Default)]
pub(crate) struct Guests(Rc<RefCell<HashMap<IpAddr, usize>>>);

/// A connection that counts for its address until it is dropped.
pub(crate) struct Guest {
    guests: Guests,
    address: IpAddr,
}

impl Guests {
    /// None if the address has reached the limit of connections.
    pub(crate) fn admit(&self, address: IpAddr) -> Option<Guest> {
        let mut all = self.0.borrow_mut();
        let count = all.entry(address).or_default();
        if *count >= MOST_OF_ADDRESS {
            return None;
        }
        *count += 1;
        let guests = self.clone();
        Some(Guest { guests, address })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut all = self.guests.0.borrow_mut();
        if let Some(count) = all.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_limit_of_connections_and_gets_closed_ones_back() {
        let guests = Guests::default();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut all: Vec<Guest> = (0..MOST_OF_ADDRESS)
            .map_while(|_| guests.admit(one))
            .collect();
        assert_eq!(all.len(), MOST_OF_ADDRESS);
        assert!(guests.admit(one).is_none() && guests.admit(other).is_some());
        all.pop();
        assert!(guests.admit(one).is_some());
        drop(all);
        assert!(guests.0.borrow().is_empty());
    }
}
