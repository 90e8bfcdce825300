"""The contract: the `RLTrainingJob` resource as typed data. Every other package reads it; it imports none of them."""
