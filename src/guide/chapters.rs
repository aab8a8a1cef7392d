// The chapters, in the order in which they are to be read: name, title, file. The documentation makes modules of them,
// and `visa help` prints them.
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
    coming_from, "Coming from Triton, CUDA or CuTe", "14_coming_from.md";
    glossary, "Glossary", "15_glossary.md";
}
