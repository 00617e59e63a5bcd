@EnableSchedulerLock(defaultLockAtMostFor = "10m")
class Jobs {
    @Scheduled(cron = "0 */15 * * * *")
    @SchedulerLock(name = "report", lockAtMostFor = "14m", lockAtLeastFor = "5m")
    void report() {}
}
