//! Ruby's requests that a batch holds, by tag. Ruby's garbage collector sees them through `mark`.
//!
//! The list is Rust's own, because each change of a list of Ruby's is a protected call. Nothing here calls Ruby while
//! the list is borrowed, so `mark` can always read it.

use std::cell::RefCell;

use magnus::value::{Opaque, ReprValue};
use magnus::{Ruby, Value, gc};

/// Requests by tag. Tags of requests that are gone are used again.
#[derive(Default)]
pub struct Held(RefCell<List>);

#[derive(Default)]
struct List {
    /// Nil where a tag is free.
    requests: Vec<Opaque<Value>>,
    free: Vec<usize>,
}

impl Held {
    /// The tag of the next request.
    pub fn next_tag(&self) -> usize {
        let list = self.0.borrow();
        list.free.last().copied().unwrap_or(list.requests.len())
    }

    /// Holds a request, and returns its tag.
    pub fn put(&self, request: Value) -> usize {
        let list = &mut *self.0.borrow_mut();
        match list.free.pop() {
            Some(tag) => {
                list.requests[tag] = request.into();
                tag
            }
            None => {
                list.requests.push(request.into());
                list.requests.len() - 1
            }
        }
    }

    /// The request of a tag; nil if it is gone.
    pub fn get(&self, ruby: &Ruby, tag: usize) -> Value {
        let request = self.0.borrow().requests.get(tag).copied();
        request.map_or_else(|| ruby.qnil().as_value(), |request| ruby.get_inner(request))
    }

    /// Lets a request go, and returns it.
    pub fn take(&self, ruby: &Ruby, tag: usize) -> Value {
        let request = self.get(ruby, tag);
        let list = &mut *self.0.borrow_mut();
        if !request.is_nil() {
            list.requests[tag] = ruby.qnil().as_value().into();
            list.free.push(tag);
        }
        request
    }

    /// Tags and requests. While they are used, they must stay here, where the garbage collector sees them.
    pub fn all(&self, ruby: &Ruby) -> Vec<(usize, Value)> {
        let list = self.0.borrow();
        let all = list.requests.iter().map(|request| ruby.get_inner(*request));
        all.enumerate()
            .filter(|(_, request)| !request.is_nil())
            .collect()
    }

    /// Lets all of them go.
    pub fn clear(&self) {
        *self.0.borrow_mut() = List::default();
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        let list = self.0.borrow();
        list.requests.len() - list.free.len()
    }

    /// For Ruby's garbage collector.
    pub fn mark(&self, marker: &gc::Marker) {
        for request in &self.0.borrow().requests {
            marker.mark(*request);
        }
    }
}
