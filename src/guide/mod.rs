//! The guide: the chip and its kernels, for engineers who know Triton or CUDA.
//!
//! Every program of these chapters is compiled and run as a test, and the numbers of cycles are what it asserts. Chapters
//! follow the way of the data: memories, fetch, switch, contraction, vector, cast, transpose, commit.
//!
//! <style>#guide-chip { color: inherit; max-width: 560px }</style>
#![doc = include_str!("chip.svg")]
//!
//! One chip, drawn from top to bottom as data goes, with bytes per cycle. The [first chapter](chip) has the sizes and rates with their sources.
//!
//! # Chapters
//!
//! 1. [`chip`]: memories, engines, widths and rates.
//! 2. [`first_kernel`]: the kernel of the README line by line, from the upload to the report.
//! 3. [`mappings`]: which element is at which position.
//! 4. [`memories_and_dma`]: HBM, DM and register files, addresses, views, tiles, and what moves between them.
//! 5. [`sequencers`]: loops that follow from mappings.
//! 6. [`fetch`]: from DM to packets: types, zero points, tables, masks, windows.
//! 7. [`switch`]: packets from slice to slice.
//! 8. [`contraction`]: collect, the register file, multiply, add, accumulate.
//! 9. [`vector`]: arithmetic on `i32` and `f32`.
//! 10. [`cast_transpose_commit`]: narrower types, other layouts, back to DM.
//! 11. [`contexts_and_order`]: what runs at the same time, and what waits.
//! 12. [`clock`]: the report, and how to make a kernel faster.
//! 13. [`faults_and_refusals`]: how to read them.
//! 14. [`kernels`]: layers, norms, softmax, sums and greatest columns that are there already.
//! 15. [`planning`]: the mapping of a contraction, found and proven.
//! 16. [`coming_from`]: the words of Triton, CUDA and CuTe.
//! 17. [`glossary`].
//!
//! `visa help TOPIC` prints a chapter in a terminal, for example `visa help fetch`. Messages and reports name a chapter as
//! `(guide: fetch)`.

/// A chapter of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// The name of the module, and of the topic of `visa help`.
    pub name: &'static str,
    /// What the chapter is about, in a few words.
    pub title: &'static str,
    /// The text, in Markdown. Lines of code that start with `# ` are hidden in the documentation.
    pub text: &'static str,
}

/// Makes a module of each chapter, and the table of all.
macro_rules! chapters {
    ($($name:ident, $title:literal, $file:literal;)*) => {
        $(
            #[doc = include_str!($file)]
            pub mod $name {}
        )*

        /// All chapters, in the order in which they are to be read.
        pub const CHAPTERS: &[Chapter] =
            &[$(Chapter { name: stringify!($name), title: $title, text: include_str!($file) }),*];
    };
}

chapters! {
    chip, "The chip in one picture", "01_chip.md";
    first_kernel, "A first kernel, line by line", "02_first_kernel.md";
    mappings, "Mappings: which element is where", "03_mappings.md";
    memories_and_dma, "Memories, views and DMA", "04_memories_and_dma.md";
    sequencers, "Sequencers: loops from mappings", "05_sequencers.md";
    fetch, "Fetch: from memory to packets", "06_fetch.md";
    switch, "Switch: packets from slice to slice", "07_switch.md";
    contraction, "Contraction: collect, align, multiply, add", "08_contraction.md";
    vector, "Vector Engine: arithmetic on i32 and f32", "09_vector.md";
    cast_transpose_commit, "Cast, transpose, commit", "10_cast_transpose_commit.md";
    contexts_and_order, "Contexts and order", "11_contexts_and_order.md";
    clock, "The clock, and faster kernels", "12_clock.md";
    faults_and_refusals, "Faults and refusals", "13_faults_and_refusals.md";
    kernels, "Parts of kernels: layers, norms, softmax", "16_kernels.md";
    planning, "The best mapping of a contraction", "17_planning.md";
    coming_from, "Coming from Triton, CUDA or CuTe", "14_coming_from.md";
    glossary, "Glossary", "15_glossary.md";
}
