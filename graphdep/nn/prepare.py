"""stub"""
from graphdep.nn.attention.layout import attach_layout
def prepare(model, batch, device=None):
    return attach_layout(batch, device)
