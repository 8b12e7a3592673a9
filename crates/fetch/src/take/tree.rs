//! The tree of a page, whose memory has a limit: a few bytes of a page can stand for thousands of elements with thousands
//! of attributes each.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName, local_name};
use scraper::{Html, HtmlTreeSink};

use super::alone::Alone;

/// Most elements and texts of a page.
const MOST_NODES: usize = 300_000;

/// The deepest nesting of a page, a little more than browsers allow. Deeper elements cost the square of their depth.
const DEEPEST: usize = 600;

/// Most memory of attributes, in bytes. Elements after that have none.
const MOST_OF_ATTRIBUTES: usize = 64 << 20;

/// Trees up to these limits may be in memory in all threads at once.
const SMALL: (usize, usize) = (1 << 14, 4 << 20);

/// A page and the turn of its thread, if the page is large.
pub(super) struct Page {
    pub html: Html,
    /// Whether some of it is missing, because it went beyond a limit.
    pub is_cut: bool,
    _alone: Option<Alone>,
}

/// Where a parser puts the elements of a page.
pub(super) struct Tree {
    sink: HtmlTreeSink,
    attributes: Cell<usize>,
    /// How many elements and pieces of text came.
    came: Cell<usize>,
    alone: RefCell<Option<Alone>>,
}

impl Tree {
    pub fn new() -> Tree {
        Tree {
            sink: HtmlTreeSink::new(Html::new_document()),
            attributes: Cell::new(0),
            came: Cell::new(0),
            alone: RefCell::new(None),
        }
    }

    fn nodes(&self) -> usize {
        self.sink.0.borrow().tree.nodes().len()
    }

    /// How many elements and pieces of text came. The number stays the same within a tag and within a comment.
    pub fn came(&self) -> usize {
        self.came.get()
    }

    /// Whether nothing more is put into it.
    pub fn is_full(&self) -> bool {
        let html = self.sink.0.borrow();
        let last = html.tree.nodes().next_back();
        let depth = last.map_or(0, |last| last.ancestors().count());
        depth > DEEPEST || html.tree.nodes().len() > MOST_NODES
    }

    /// Waits for the turn of this thread once the tree is large.
    fn make_room(&self) {
        let mut alone = self.alone.borrow_mut();
        if alone.is_none() && (self.nodes() > SMALL.0 || self.attributes.get() > SMALL.1) {
            *alone = Some(Alone::wait());
        }
    }
}

/// The memory of an attribute, with the names of classes that selectors look for.
fn weight(attribute: &Attribute) -> usize {
    let classes = match attribute.name.local == local_name!("class") {
        // A name takes a space and a character at least.
        true => attribute.value.len() / 2 * size_of::<usize>(),
        false => 0,
    };
    size_of::<Attribute>() + classes
}

impl TreeSink for Tree {
    type Output = Page;
    type Handle = <HtmlTreeSink as TreeSink>::Handle;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Page {
        Page {
            is_cut: self.attributes.get() > MOST_OF_ATTRIBUTES,
            html: self.sink.finish(),
            _alone: self.alone.into_inner(),
        }
    }

    fn create_element(
        &self,
        name: QualName,
        mut attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Self::Handle {
        self.came.set(self.came.get() + 1);
        let weight: usize = attributes.iter().map(weight).sum();
        let all = self.attributes.get().saturating_add(weight);
        match all > MOST_OF_ATTRIBUTES {
            true => attributes = Vec::new(),
            false => self.attributes.set(all),
        }
        self.make_room();
        self.sink.create_element(name, attributes, flags)
    }

    fn parse_error(&self, message: Cow<'static, str>) {
        self.sink.parse_error(message);
    }

    fn get_document(&self) -> Self::Handle {
        self.sink.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Self::Handle) -> Ref<'a, QualName> {
        self.sink.elem_name(target)
    }

    fn create_comment(&self, text: StrTendril) -> Self::Handle {
        self.sink.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Self::Handle {
        self.sink.create_pi(target, data)
    }

    fn append(&self, parent: &Self::Handle, child: NodeOrText<Self::Handle>) {
        self.came.set(self.came.get() + 1);
        self.sink.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Self::Handle,
        before: &Self::Handle,
        child: NodeOrText<Self::Handle>,
    ) {
        self.sink
            .append_based_on_parent_node(element, before, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.sink.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &Self::Handle) -> Self::Handle {
        self.sink.get_template_contents(target)
    }

    fn same_node(&self, one: &Self::Handle, other: &Self::Handle) -> bool {
        self.sink.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.sink.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Self::Handle, new: NodeOrText<Self::Handle>) {
        self.sink.append_before_sibling(sibling, new);
    }

    fn add_attrs_if_missing(&self, target: &Self::Handle, attributes: Vec<Attribute>) {
        self.sink.add_attrs_if_missing(target, attributes);
    }

    fn remove_from_parent(&self, target: &Self::Handle) {
        self.sink.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Self::Handle, new_parent: &Self::Handle) {
        self.sink.reparent_children(node, new_parent);
    }
}
