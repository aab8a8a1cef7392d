use reference::commits::*;
use reference::mapping::Map;
use reference::numbers::ElementType;

#[test]
fn known_codes() {
    let codes = |code| [false, true].map(|relu| narrowed(code, relu));
    assert_eq!(codes(0x3f80_0000), [0x3f80; 2]);
    assert_eq!(codes(0xbf80_8000), [0xbf80, 0], "a tie, to even");
    assert_eq!(codes(0x8000_0001), [0x8000, 0]);
    assert_eq!(codes(0x007f_ffff), [0; 2], "below the smallest normal number");
    assert_eq!(codes(0xffff_ffff), [0x7fc0; 2]);
    assert_eq!(codes(0x7f7f_ffff), [0x7f80; 2]);
}

#[test]
fn known_trims() {
    let axes = [("W", 12), ("V", 3)];
    let keeps = |packet: &str, kept: &str| {
        keeps_the_beginning(ElementType::I8, &Map::parse(packet, &axes), &Map::parse(kept, &axes))
    };
    assert!(keeps("W # 32", "W # 16") && keeps("W # 32", "W = 8") && keeps("W # 32", "W # 32"));
    assert!(!keeps("W # 32", "W"), "12 bytes");
    assert!(!keeps("W # 16", "W = 8"), "no flit");
    assert!(!keeps("W # 32", "W % 4 # 8"), "padding in place of elements");
    assert!(!keeps("W # 32", "V # 8"));
}
