# SPDX-License-Identifier: GPL-2.0
"""What a record costs, beside its peers: see run.py."""
