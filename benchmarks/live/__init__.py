"""Ten jobs with deadlines, trained by the platform and replayed by the simulator: do both keep the same promises?"""
