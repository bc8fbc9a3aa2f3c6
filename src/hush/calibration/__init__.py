"""Calibration: the least noise for a budget (ranking.py), the least loss that any noise can have (limit.py), and the
searches behind them: the request, the least scale, the best shape, the linear programmes.
"""
