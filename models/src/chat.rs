//! Texts of a conversation, as the assistant was trained on them.

/// The text in front of the first message.
const SYSTEM: &str = "<|im_start|>system\n\
    You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n";

/// The text of a message up to where its answer begins. `is_first`: of a conversation; otherwise an answer is in front of it, whose
/// end it adds.
pub fn message(text: &str, is_first: bool) -> String {
    let before = if is_first { SYSTEM } else { "<|im_end|>\n" };
    format!("{before}<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_that_of_the_template() {
        let text = message("Hi", true) + "Hello!" + &message("Bye", false);
        let expected = "<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant
Hello!<|im_end|>
<|im_start|>user
Bye<|im_end|>
<|im_start|>assistant
";
        assert_eq!(text, expected);
    }
}
