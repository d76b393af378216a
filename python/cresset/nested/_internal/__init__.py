"""The class of jagged nested tensors, its operators and its sizes (docs/records/0028-nested-tensors.md)."""
