def run(seed): return ""
