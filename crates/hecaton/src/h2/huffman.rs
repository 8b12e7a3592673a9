//! HPACK's Huffman code (RFC 7541 §5.2 and appendix B), decoded.

/// How many bits the code of each byte has. The code is canonical: codes of one length are consecutive numbers in the
/// order of their bytes, so the lengths define the whole code. The end-of-string symbol is the only other code, of 30
/// ones.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

const LONGEST: usize = 30;

/// The codes, by their lengths.
struct Codes {
    /// The first code of each length, how many there are, and where its bytes begin in `order`.
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    start: [u32; LONGEST + 1],
    /// The bytes in the order of their codes.
    order: [u8; 256],
    /// By the next eight bits: the byte whose code they begin with and the code's length; 0 if the code is longer.
    short: [(u8, u8); 256],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut codes = Codes {
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        start: [0; LONGEST + 1],
        order: [0; 256],
        short: [(0, 0); 256],
    };
    let (mut code, mut known, mut length) = (0_u32, 0_usize, 1);
    while length <= LONGEST {
        code <<= 1;
        codes.first[length] = code;
        codes.start[length] = known as u32;
        let mut byte = 0;
        while byte < 256 {
            if LENGTHS[byte] as usize == length {
                codes.order[known] = byte as u8;
                let mut filled = 0;
                while length <= 8 && filled < 1 << (8 - length) {
                    let index = ((code as usize) << (8 - length)) + filled;
                    codes.short[index] = (byte as u8, length as u8);
                    filled += 1;
                }
                known += 1;
                code += 1;
            }
            byte += 1;
        }
        codes.count[length] = code - codes.first[length];
        length += 1;
    }
    codes
}

/// Appends what `bytes` decode to; false if they are not a valid encoding.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    // Bits that were read and not decoded, left-aligned, and how many there are.
    let (mut bits, mut known) = (0_u64, 0_u32);
    let mut rest = bytes.iter();
    loop {
        while known <= 56 {
            let Some(byte) = rest.next() else { break };
            bits |= u64::from(*byte) << (56 - known);
            known += 8;
        }
        let (byte, length) = match CODES.short[(bits >> 56) as usize] {
            (_, 0) => long(bits),
            short => short,
        };
        let length = u32::from(length);
        if length == 0 || length > known {
            // The rest of the last byte is padding, all ones.
            return known < 8 && (!bits).leading_zeros() >= known && bits << known == 0;
        }
        out.push(byte);
        bits <<= length;
        known -= length;
    }
}

/// The byte of a code of more than eight bits, and the code's length, 0 if there is none.
fn long(bits: u64) -> (u8, u8) {
    for length in 9..=LONGEST {
        let code = (bits >> (64 - length)) as u32;
        let index = code.wrapping_sub(CODES.first[length]);
        if index < CODES.count[length] {
            let at = CODES.start[length] + index;
            return (CODES.order[at as usize], length as u8);
        }
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(bytes, &mut out).then_some(out)
    }

    /// The code of these bytes, made without the tables.
    fn encode(bytes: &[u8]) -> Vec<u8> {
        let mut order: Vec<usize> = (0..256).collect();
        order.sort_by_key(|byte| LENGTHS[*byte]);
        let mut codes = [(0_u32, 0_u8); 256];
        let (mut code, mut last) = (0_u32, 0);
        for byte in order {
            code <<= LENGTHS[byte] - last;
            last = LENGTHS[byte];
            codes[byte] = (code, last);
            code += 1;
        }
        let codes = bytes.iter().map(|byte| codes[usize::from(*byte)]);
        let mut bits: String = codes
            .map(|(code, length)| format!("{code:0width$b}", width = usize::from(length)))
            .collect();
        bits.push_str(&"1".repeat(bits.len().next_multiple_of(8) - bits.len()));
        let bytes = bits.as_bytes().chunks(8);
        bytes
            .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap())
            .collect()
    }

    #[test]
    fn the_examples_of_the_rfc() {
        // RFC 7541 appendix C.4 and C.6.
        for (code, text) in [
            (
                &[
                    0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
                ][..],
                "www.example.com",
            ),
            (&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], "no-cache"),
            (
                &[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f],
                "custom-key",
            ),
            (
                &[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf],
                "custom-value",
            ),
            (&[0x64, 0x02], "302"),
            (&[0xae, 0xc3, 0x77, 0x1a, 0x4b], "private"),
            (&[], ""),
        ] {
            assert_eq!(decoded(code).as_deref(), Some(text.as_bytes()));
        }
    }

    #[test]
    fn bad_padding_and_the_end_of_string_symbol_are_errors() {
        for code in [
            &[0x00][..],
            &[0xff],
            &[0x64, 0x02, 0xff],
            &[0xff; 4],
            &[0b0001_0111, 0xff],
        ] {
            assert_eq!(decoded(code), None, "{code:x?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn encoded_bytes_are_decoded(bytes: Vec<u8>) {
            proptest::prop_assert_eq!(decoded(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn any_input_ends(bytes: Vec<u8>) {
            decoded(&bytes);
        }
    }
}
