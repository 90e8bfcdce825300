"""Processes beside the trainer on one machine: TensorBoard, MLflow's server, and the watcher that ends them all."""
