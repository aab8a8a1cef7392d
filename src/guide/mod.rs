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
//! 12. [`ragged_sizes`]: 500, 197, 1000: what sizes that are no powers of two cost, and how to lay them out.
//! 13. [`checking_values`]: references on the host, `assert_close`, and looks into a running kernel.
//! 14. [`clock`]: the report, and where its numbers come from.
//! 15. [`faster_kernels`]: two kernels that become faster step by step.
//! 16. [`faults_and_refusals`]: how to read them.
//! 17. [`kernels`]: layers, norms, softmax, sums and greatest columns that are there already.
//! 18. [`planning`]: the mapping of a contraction, found and proven.
//! 19. [`language_model`]: a language model, part by part.
//! 20. [`coming_from`]: the words of Triton, CUDA and CuTe.
//! 21. [`glossary`].
//!
//! The modules below are the chapters in this order, and each ends with a link to the next one.
//!
//! `visa help TOPIC` prints a chapter in a terminal, for example `visa help fetch`. Messages and reports name a chapter as
//! `(guide: fetch)`.

/// A chapter of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// The name of the module, and of the topic of `visa help`.
    pub name: &'static str,
    /// The subject of the chapter, in a few words.
    pub title: &'static str,
    /// The text, in Markdown. Lines of code that start with `# ` are hidden in the documentation.
    pub text: &'static str,
}

/// Makes a module of each chapter, whose name sorts as the chapters are read, and the table of all. What cites a chapter
/// does so by its name without the number.
macro_rules! chapters {
    ($($page:ident = $name:ident, $title:literal, $file:literal;)*) => {
        pages! { $($page = $name, $title, $file;)* }

        /// All chapters, in the order in which they are to be read.
        pub const CHAPTERS: &[Chapter] =
            &[$(Chapter { name: stringify!($name), title: $title, text: include_str!($file) }),*];
    };
}

/// Makes the modules, each with a link to the next one.
macro_rules! pages {
    (
        $page:ident = $name:ident, $title:literal, $file:literal;
        $next:ident = $next_name:ident, $next_title:literal, $next_file:literal; $($rest:tt)*
    ) => {
        #[doc = include_str!($file)]
        #[doc = concat!("\n\n*Next: [", $next_title, "](crate::guide::", stringify!($next), ")*")]
        pub mod $page {}
        #[doc(hidden)]
        #[allow(unused_imports)] // The tool prints these files, too, and cites no chapter.
        pub use $page as $name;
        pages! { $next = $next_name, $next_title, $next_file; $($rest)* }
    };
    ($page:ident = $name:ident, $title:literal, $file:literal;) => {
        #[doc = include_str!($file)]
        pub mod $page {}
        #[doc(hidden)]
        #[allow(unused_imports)] // The tool prints these files, too, and cites no chapter.
        pub use $page as $name;
    };
}

chapters! {
    c01_chip = chip, "The chip in one picture", "01_chip.md";
    c02_first_kernel = first_kernel, "A first kernel, line by line", "02_first_kernel.md";
    c03_mappings = mappings, "Mappings: which element is where", "03_mappings.md";
    c04_memories_and_dma = memories_and_dma, "Memories, views and DMA", "04_memories_and_dma.md";
    c05_sequencers = sequencers, "Sequencers: loops from mappings", "05_sequencers.md";
    c06_fetch = fetch, "Fetch: from memory to packets", "06_fetch.md";
    c07_switch = switch, "Switch: packets from slice to slice", "07_switch.md";
    c08_contraction = contraction, "Contraction: collect, align, multiply, add", "08_contraction.md";
    c09_vector = vector, "Vector Engine: arithmetic on i32 and f32", "09_vector.md";
    c10_cast_transpose_commit = cast_transpose_commit, "Cast, transpose, commit", "10_cast_transpose_commit.md";
    c11_contexts_and_order = contexts_and_order, "Contexts and order", "11_contexts_and_order.md";
    c12_ragged_sizes = ragged_sizes, "Ragged sizes: 500, 197, 1000", "18_ragged_sizes.md";
    c13_checking_values = checking_values, "Checking values: references and looks inside", "19_checking_values.md";
    c14_clock = clock, "The clock: reports and their numbers", "12_clock.md";
    c15_faster_kernels = faster_kernels, "Faster kernels, in two worked cases", "20_faster_kernels.md";
    c16_faults_and_refusals = faults_and_refusals, "Faults and refusals", "13_faults_and_refusals.md";
    c17_kernels = kernels, "Parts of kernels: layers, norms, softmax", "16_kernels.md";
    c18_planning = planning, "The best mapping of a contraction", "17_planning.md";
    c19_language_model = language_model, "A language model, part by part", "21_language_model.md";
    c20_coming_from = coming_from, "Coming from Triton, CUDA or CuTe", "14_coming_from.md";
    c21_glossary = glossary, "Glossary", "15_glossary.md";
}
