"""From a noise and a sensitivity to a privacy curve: theorems, curves, composition, conversions."""
