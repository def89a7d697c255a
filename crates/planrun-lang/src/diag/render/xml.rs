//! Writes indented XML documents.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, Event};

/// The writer of elements.
pub type Xml = Writer<Vec<u8>>;

/// Returns a document with an XML declaration.
#[must_use]
pub fn xml_document(content: impl FnOnce(&mut Xml) -> io::Result<()>) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let declaration = Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None));
    // Writing to memory cannot fail.
    let _ = writer
        .write_event(declaration)
        .and_then(|()| content(&mut writer));
    let mut text = String::from_utf8(writer.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}
