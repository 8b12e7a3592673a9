//! The decoder against the examples of RFC 7541, and against what `http` and `h2` take.

use http::{HeaderName, HeaderValue, StatusCode};

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut block = vec![0x40];
    for text in [name, value] {
        push_integer(&mut block, 0, 7, text.len());
        block.extend(text);
    }
    block
}

#[test]
fn the_responses_of_the_rfc_with_and_without_huffman() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
         2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70
         6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d
         54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049
         5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
         3d31",
    ];
    let huffman = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
         77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f
         9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::default();
        // The RFC's examples are of a table of 256 bytes.
        decoder.resize(256);
        let expected = [
            (302, vec![63, 65, 52, 42]),
            (307, vec![42, 63, 65, 52]),
            (200, vec![98, 52, 65]),
        ];
        for (block, (status, sizes)) in blocks.iter().zip(expected) {
            let said = decoder.read(&bytes(block)).unwrap();
            assert_eq!((said.status, said.wrong), (Some(status), None));
            assert_eq!(decoder.sizes(), sizes);
        }
    }
}

#[test]
fn errors_in_indexed_fields_are_reported_too() {
    for (name, value, wrong) in [
        (&b"x-A"[..], &b"1"[..], BAD_NAME),
        (b"x a", b"1", BAD_NAME),
        (b"", b"1", BAD_NAME),
        (b"x-a", b"1\r\nx: 2", BAD_VALUE),
        (b"x-a", b"\0", BAD_VALUE),
        (b":path", b"/", PSEUDO),
        (b":unknown", b"/", PSEUDO),
        (b"connection", b"close", CONNECTION),
        (b"te", b"gzip", CONNECTION),
        (b":status", b"20", BAD_STATUS),
        (b":status", b"099", BAD_STATUS),
    ] {
        let mut decoder = Decoder::default();
        let block = literal(name, value);
        assert_eq!(decoder.read(&block).unwrap().wrong, Some(wrong), "{wrong}");
        let size = decoder.sizes();
        // Its replacement has an entry of equal size.
        let harmless = decoder.harmless(&block).unwrap();
        let mut other = Decoder::default();
        assert_eq!(other.read(&harmless).unwrap().wrong, None);
        assert_eq!(other.sizes(), size);
        assert_eq!(
            decoder.read(&[0xbe]).unwrap().wrong,
            Some(wrong),
            "by index: {wrong}"
        );
        assert_eq!(decoder.harmless(&[0xbe]).unwrap(), b"");
    }
    for (block, wrong) in [
        (vec![0x88, 0x88], TWICE),
        ([literal(b"x", b"1"), vec![0x88]].concat(), LATE_PSEUDO),
    ] {
        assert_eq!(Decoder::default().read(&block).unwrap().wrong, Some(wrong));
    }
}

#[test]
fn invalid_hpack_is_undecodable() {
    for block in [
        &[0x80][..],
        &[0xbe],
        &[0x40],
        &[0x40, 5, b'a'],
        &[0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x3f, 0xe2, 0x1f],    // A table of 4,097 bytes.
        &[0x88, 0x20],          // A size after a field.
        &[0x40, 0x81, 0xff, 0], // Eight bits of padding.
    ] {
        assert_eq!(
            Decoder::default().read(block),
            Err(Undecodable),
            "{block:x?}"
        );
    }
}

#[test]
fn an_entry_larger_than_the_table_empties_it() {
    let mut decoder = Decoder::default();
    decoder.read(&literal(b"x", b"1")).unwrap();
    decoder.read(&literal(b"x", &[b'1'; 4064])).unwrap();
    assert_eq!(decoder.sizes(), Vec::<usize>::new());
}

proptest::proptest! {
    /// The crate `http` takes a quote in a name, which RFC 9110 §5.6.2 does not.
    #[test]
    fn names_and_values_are_those_that_the_crate_below_takes(
        name in proptest::collection::vec(0_u8.., 0..4), value in proptest::collection::vec(0_u8.., 0..4),
    ) {
        let said = Decoder::default().read(&literal(&name, &value)).unwrap();
        if !name.starts_with(b":") && name != b"te" {
            let takes = HeaderName::from_lowercase(&name).is_ok()
                && !name.contains(&b'"')
                && HeaderValue::from_bytes(&value).is_ok();
            proptest::prop_assert_eq!(said.wrong.is_none(), takes);
        }
        let said = Decoder::default().read(&literal(b":status", &value)).unwrap();
        proptest::prop_assert_eq!(said.wrong.is_none(), StatusCode::from_bytes(&value).is_ok());
    }

    #[test]
    fn a_replaced_block_leaves_a_table_of_equal_sizes(blocks: Vec<Vec<u8>>) {
        let (mut decoder, mut other) = (Decoder::default(), Decoder::default());
        for block in blocks {
            if decoder.read(&block).is_err() {
                break;
            }
            let Some(harmless) = decoder.harmless(&block) else { break };
            proptest::prop_assert!(other.read(&harmless).is_ok());
            proptest::prop_assert_eq!(decoder.sizes(), other.sizes());
        }
    }
}
