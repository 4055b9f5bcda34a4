import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A ResourceManager and two NodeManagers in this JVM, on ports that the system picks. Containers are processes of their own.
 *
 * <p>The first argument names the file for the configuration of clients, which appears when all of them are up; the others
 * are settings, KEY=VALUE. It ends, and its containers with it, when its standard input does: so it cannot outlive the
 * process that has started it, however that one ends.
 */
public final class YarnForTests {
    private static final int NODE_MANAGERS = 2;
    private static final String FILE_SYSTEM = "fs.file.impl";

    /**
     * Sets permissions by itself. Without its native library, which Maven does not have, Hadoop starts a process for each
     * file: 10,000 of them when a NodeManager unpacks an environment.
     */
    public static final class QuickFileSystem extends LocalFileSystem {
        public QuickFileSystem() {
            super(new RawLocalFileSystem() {
                @Override
                public void setPermission(org.apache.hadoop.fs.Path path, FsPermission wanted) throws IOException {
                    String symbols =
                            wanted.getUserAction().SYMBOL + wanted.getGroupAction().SYMBOL + wanted.getOtherAction().SYMBOL;
                    Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(symbols));
                }
            });
        }
    }

    public static void main(String[] arguments) {
        try {
            YarnConfiguration settings = new YarnConfiguration();
            for (int at = 1; at < arguments.length; at++) {
                String[] setting = arguments[at].split("=", 2);
                settings.set(setting[0], setting[1]);
            }
            serve(Path.of(arguments[0]), settings);
        } catch (Throwable trouble) {
            trouble.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0); // Hadoop leaves threads behind that would keep the JVM alive
    }

    private static void serve(Path file, YarnConfiguration settings) throws Exception {
        settings.set(FILE_SYSTEM, QuickFileSystem.class.getName());
        MiniYARNCluster cluster = new MiniYARNCluster("yarn", NODE_MANAGERS, 1, 1);
        cluster.init(settings);
        cluster.start();
        Path unfinished = file.resolveSibling(file.getFileName() + ".unfinished");
        YarnConfiguration forClients = new YarnConfiguration(cluster.getConfig());
        forClients.unset(FILE_SYSTEM);
        try (OutputStream target = Files.newOutputStream(unfinished)) {
            forClients.writeXml(target);
        }
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
        while (System.in.read() >= 0) {}
        // A NodeManager that stops kills its containers, and then waits 16 s for what is only about logs.
        for (int node = 0; node < NODE_MANAGERS; node++) {
            if (!cluster.getNodeManager(node).getNMContext().getContainers().isEmpty()) {
                cluster.stop();
                return;
            }
        }
    }
}
