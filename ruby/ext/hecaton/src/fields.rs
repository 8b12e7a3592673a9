//! Makes Ruby Strings of all header fields of a record in one call. Cutting the fields one by one in Ruby was most of
//! the cost of a response for programs that read its headers.
//!
//! The bridge writes records itself (`record`), but a Response may come from a foreign Marshal dump. An invalid record
//! is therefore an ArgumentError.

use magnus::value::ReprValue;
use magnus::{Error, Object, RArray, RHash, RModule, RString, Ruby, function};

use crate::{content_type, record, values};

/// How many Strings are handed to an Array at once; they wait on the stack, where Ruby's garbage collector sees them.
const AT_ONCE: usize = 32;

/// Names and values of the header fields, or of the trailers, in turns: new Strings, in UTF-8 if they are valid, else bytes.
fn fields(ruby: &Ruby, record: RString, trailers: bool) -> Result<RArray, Error> {
    let bytes = record.to_bytes();
    let block = block(ruby, &bytes, trailers)?;
    let list = ruby.ary_new();
    let mut strings = [ruby.qnil().as_value(); AT_ONCE];
    let mut filled = 0;
    for (name, value) in lines(block) {
        for text in [name, value] {
            strings[filled] = content_type::text(ruby, text).as_value();
            filled += 1;
        }
        if filled == AT_ONCE {
            list.cat(&strings)?;
            filled = 0;
        }
    }
    list.cat(&strings[..filled])?;
    Ok(list)
}

/// Puts the header fields into a Hash of names, each with an Array of its values, as bytes.
fn add_fields(ruby: &Ruby, record: RString, hash: RHash) -> Result<RHash, Error> {
    let bytes = record.to_bytes();
    for (name, value) in lines(block(ruby, &bytes, false)?) {
        let name = ruby.str_from_slice(name);
        let value = ruby.str_from_slice(value);
        match hash.get(name).and_then(RArray::from_value) {
            Some(values) => values.push(value)?,
            None => {
                // Else the Hash would take a copy.
                name.freeze();
                hash.aset(name, ruby.ary_new_from_values(&[value]))?;
            }
        }
    }
    Ok(hash)
}

fn block<'a>(ruby: &Ruby, record: &'a [u8], trailers: bool) -> Result<&'a [u8], Error> {
    let blocks = record::blocks(record);
    let (headers, behind) =
        blocks.ok_or_else(|| values::invalid(ruby, "this is no record of a response".into()))?;
    Ok(if trailers { behind } else { headers })
}

/// Names and values of lines `name: value\r\n`; ends at the first line of another form.
fn lines(mut block: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let end = block.iter().position(|byte| *byte == b'\r')?;
        let (line, rest) = block.split_at(end);
        let colon = line.iter().position(|byte| *byte == b':')?;
        block = rest.get(2..)?;
        Some((&line[..colon], line.get(colon + 2..)?))
    })
}

/// Defines both functions.
pub fn init(native: RModule) -> Result<(), Error> {
    native.define_singleton_method("fields", function!(fields, 2))?;
    native.define_singleton_method("add_fields", function!(add_fields, 2))
}
