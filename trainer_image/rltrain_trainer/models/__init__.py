"""Models and tokenizers: where the policy's starting weights come from."""
