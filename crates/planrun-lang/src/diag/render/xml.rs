//! XML documents, indented, as text.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, Event};

/// What elements are written to.
pub type Xml = Writer<Vec<u8>>;

/// A document with its declaration.
#[must_use]
pub fn xml_document(content: impl FnOnce(&mut Xml) -> io::Result<()>) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let declaration = Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None));
    // Writing to memory does not fail.
    let _ = writer
        .write_event(declaration)
        .and_then(|()| content(&mut writer));
    let mut text = String::from_utf8(writer.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}
