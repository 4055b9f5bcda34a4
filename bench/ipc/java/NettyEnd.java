import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.codec.LengthFieldPrepender;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * One end of the Netty transport: `NettyEnd receiver`, or `NettyEnd sender PORT`.
 *
 * <p>Asked over stdin, answers over stdout, as control.py says; leaves when stdin ends. Messages travel as a stream
 * processor sends them: a length before each, writeAndFlush from a thread that is not the event loop, TCP_NODELAY,
 * and the receiver hands out a byte[]. System.nanoTime is CLOCK_MONOTONIC, so the ends share a clock.
 */
public final class NettyEnd {
    private static final int LENGTH_BYTES = 4;
    private static final int MAX_MESSAGE_BYTES = 64 << 20;
    private static final int BUFFERED_BYTES = 8 << 20; // the capacity of the ring
    private static final long END = -1; // the stamp of the small message that ends a run
    private static final byte[] END_MESSAGE = ByteBuffer.allocate(Long.BYTES).putLong(END).array();

    public static void main(String[] arguments) throws Exception {
        // Daemon threads: the process leaves when main does.
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NettyEnd::daemon, NioIoHandler.newFactory());
        if (arguments[0].equals("receiver")) {
            receive(loops);
        } else {
            send(loops, Integer.parseInt(arguments[1]));
        }
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static void receive(EventLoopGroup loops) throws Exception {
        BufferedReader questions = questions();
        Arrivals arrivals = new Arrivals();
        Channel server = new ServerBootstrap()
                .group(loops)
                .channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(
                                new LengthFieldBasedFrameDecoder(
                                        MAX_MESSAGE_BYTES, 0, LENGTH_BYTES, 0, LENGTH_BYTES),
                                arrivals);
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0)
                .sync()
                .channel();
        int port = ((InetSocketAddress) server.localAddress()).getPort();
        answer("{\"clock_ns\":%d,\"port\":%d}", System.nanoTime(), port);
        for (String line; (line = questions.readLine()) != null; ) {
            String[] words = line.split(" ");
            arrivals.expect(words[0].equals("drain") ? Long.parseLong(words[1]) + 1 : Arrivals.UNTIL_THE_END);
            answer("{\"clock_ns\":%d}", System.nanoTime());
        }
    }

    private static void send(EventLoopGroup loops, int port) throws Exception {
        BufferedReader questions = questions();
        Outlet outlet = new Outlet();
        outlet.channel = new Bootstrap()
                .group(loops)
                .channel(NioSocketChannel.class)
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK,
                        new WriteBufferWaterMark(BUFFERED_BYTES / 2, BUFFERED_BYTES))
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new LengthFieldPrepender(LENGTH_BYTES), outlet);
                    }
                })
                .connect(InetAddress.getLoopbackAddress(), port)
                .sync()
                .channel();
        answer("{\"clock_ns\":%d}", System.nanoTime());
        for (String line; (line = questions.readLine()) != null; ) {
            String[] words = line.split(" ");
            byte[] message = new byte[Integer.parseInt(words[1])];
            if (words[0].equals("pace")) {
                pace(outlet, message, Long.parseLong(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]));
            } else {
                flood(outlet, message, Long.parseLong(words[2]));
            }
        }
    }

    /** The paced sender of pacing.py: see there why a message is stamped as it is. */
    private static void pace(Outlet outlet, byte[] message, long ratePerSecond, long count, long giveUpNanos)
            throws InterruptedException {
        ByteBuffer stamp = ByteBuffer.wrap(message);
        long started = System.nanoTime();
        long woke = started;
        long sent = 0;
        for (; sent < count; sent++) {
            long due = started + sent * 1_000_000_000L / ratePerSecond;
            long now = System.nanoTime();
            if (now < due) {
                do {
                    LockSupport.parkNanos(due - now);
                    now = System.nanoTime();
                } while (now < due);
                woke = now;
            } else if (now - due > giveUpNanos) {
                break;
            }
            stamp.putLong(0, Math.max(due, woke));
            outlet.send(message);
        }
        outlet.send(END_MESSAGE);
        answer("{\"started_ns\":%d,\"sent\":%d}", started, sent);
    }

    private static void flood(Outlet outlet, byte[] message, long count) throws InterruptedException {
        long started = System.nanoTime();
        for (long sent = 0; sent < count; sent++) {
            outlet.send(message);
        }
        outlet.send(END_MESSAGE);
        answer("{\"started_ns\":%d,\"sent\":%d}", started, count);
    }

    private static BufferedReader questions() {
        return new BufferedReader(new InputStreamReader(System.in));
    }

    private static synchronized void answer(String format, Object... values) {
        System.out.println(String.format(format, values));
        System.out.flush();
    }

    /** Writes from the calling thread; waits while the peer is so far behind that the channel is not writable. */
    private static final class Outlet extends io.netty.channel.ChannelInboundHandlerAdapter {
        private Channel channel;

        void send(byte[] message) throws InterruptedException {
            if (!channel.isWritable()) {
                awaitWritable();
            }
            ByteBuf buffer = channel.alloc().buffer(message.length).writeBytes(message);
            channel.writeAndFlush(buffer, channel.voidPromise());
        }

        private synchronized void awaitWritable() throws InterruptedException {
            while (!channel.isWritable()) {
                wait();
            }
        }

        @Override
        public synchronized void channelWritabilityChanged(ChannelHandlerContext context) {
            notifyAll();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            fail(cause);
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            fail(new IOException("the receiver is gone"));
        }
    }

    /** Copies each message to a byte[], notes its latency, and answers when the last one is here. */
    @io.netty.channel.ChannelHandler.Sharable
    private static final class Arrivals extends SimpleChannelInboundHandler<ByteBuf> {
        static final long UNTIL_THE_END = Long.MAX_VALUE;

        private volatile long expected;
        private long[] latencies = new long[1024];
        private int count;

        void expect(long messages) {
            count = 0; // nothing is under way: the previous run was answered. The volatile store publishes it.
            expected = messages;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf frame) {
            byte[] message = new byte[frame.readableBytes()];
            frame.readBytes(message);
            long now = System.nanoTime();
            long limit = expected;
            if (limit != UNTIL_THE_END) {
                if (++count == limit) {
                    answer("{\"finished_ns\":%d}", now);
                }
                return;
            }
            long stamp = ByteBuffer.wrap(message).getLong(0);
            if (stamp == END) {
                String list = Arrays.stream(latencies, 0, count)
                        .mapToObj(Long::toString).collect(Collectors.joining(","));
                answer("{\"finished_ns\":%d,\"latencies_ns\":[%s]}", now, list);
                return;
            }
            if (count == latencies.length) {
                latencies = Arrays.copyOf(latencies, 2 * count);
            }
            latencies[count++] = now - stamp;
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            fail(cause);
        }
    }

    private static void fail(Throwable cause) {
        answer("{\"error\":\"%s\"}", String.valueOf(cause).replace('"', '\'').replace('\\', '/'));
        Runtime.getRuntime().halt(1);
    }
}
